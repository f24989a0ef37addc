// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/laws/symmetric_case.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft::sim::laws {

namespace {

class Mirror {
 public:
  Mirror(const Case& drawn, int ranks, Turn turn) : drawn_(drawn), ranks_(ranks), turn_(turn) {}

  Case make() {
    all_ = drawn_;
    all_.devices.assign(static_cast<std::size_t>(ranks_), drawn_.devices.front());
    all_.ranks.assign(static_cast<std::size_t>(ranks_), drawn_.ranks.front());
    all_.nics.assign(static_cast<std::size_t>(ranks_), drawn_.nics.front());
    for (int r = 0; r < ranks_; ++r) {
      all_.devices[static_cast<std::size_t>(r)].nic = r;
      all_.ranks[static_cast<std::size_t>(r)].device = r;
    }
    all_.kernels.clear();
    all_.gangs.clear();
    all_.operations.clear();
    all_.events = (drawn_.events + 1) * ranks_;
    all_.signal_owner.clear();
    for (std::size_t s = 0; s < drawn_.signal_owner.size(); ++s) {
      for (int r = 0; r < ranks_; ++r) all_.signal_owner.emplace_back(r);
    }
    posted_.assign(drawn_.signal_owner.size(), 0);
    recorded_.assign(static_cast<std::size_t>(drawn_.events), false);
    for (const OperationCase& op : drawn_.operations) {
      if (op.rank == 0) mirror(op);
    }
    // A call on a stream at least: else a host thread belongs to nobody.
    for (int r = 0; r < ranks_; ++r) {
      OperationCase record;
      record.kind = Kind::record;
      record.rank = r;
      record.event = drawn_.events * ranks_ + r;
      all_.operations.push_back(record);
    }
    return all_;
  }

 private:
  using Kind = OperationCase::Kind;

  [[nodiscard]] int peer(int rank, int distance) const {
    return turn_ == Turn::rotation ? (rank + distance) % ranks_ : rank ^ (distance % ranks_);
  }
  [[nodiscard]] int signal_of(int signal, int rank) const { return signal * ranks_ + rank; }
  // To whom the poster of a signal posts: some other rank, or itself.
  [[nodiscard]] int distance(int signal) const { return signal % ranks_; }

  WayCase way_of(WayCase way, int rank, bool of_tiles) const {
    int far = way.peer % ranks_;
    if (of_tiles && far == 0) far = 1;
    way.peer = peer(rank, far);
    return way;
  }

  void mirror(const OperationCase& drawn) {
    OperationCase op = drawn;
    switch (op.kind) {
      case Kind::launch: {
        const KernelCase& kernel = drawn_.kernels[static_cast<std::size_t>(op.kernel)];
        return kernel.gang ? mirror_gang(op, kernel) : mirror_launch(op, kernel);
      }
      case Kind::wait_signal: {
        const std::uint64_t reached = posted_[static_cast<std::size_t>(op.signal)];
        if (reached == 0) return;
        op.value = std::min(op.value, reached);
        break;
      }
      case Kind::record:
        recorded_[static_cast<std::size_t>(op.event)] = true;
        break;
      case Kind::wait_event:
      case Kind::host_wait:
        if (!recorded_[static_cast<std::size_t>(op.event)]) return;
        break;
      case Kind::message:
        posted_[static_cast<std::size_t>(op.signal)] += 1;
        break;
      case Kind::post:
        posted_[static_cast<std::size_t>(op.signal)] += op.value;
        break;
      case Kind::copy:
      case Kind::host_delay:
        break;
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      OperationCase its = op;
      its.rank = rank;
      its.way = way_of(op.way, rank, false);
      its.event = op.event + rank * drawn_.events;
      const bool waits = op.kind == Kind::wait_signal;
      its.signal = signal_of(op.signal, waits ? rank : peer(rank, distance(op.signal)));
      all_.operations.push_back(its);
    }
  }

  void mirror_launch(const OperationCase& op, const KernelCase& kernel) {
    auto [place, added] = kernels_.emplace(op.kernel, static_cast<int>(all_.kernels.size()));
    if (added) {
      KernelCase ours = kernel;
      for (RoleCase& role : ours.roles) {
        for (RangeCase& range : role.ranges) clamp(range);
      }
      for (int rank = 0; rank < ranks_; ++rank) all_.kernels.push_back(of_rank(ours, rank));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      OperationCase its = op;
      its.rank = rank;
      its.kernel = place->second + rank;
      all_.operations.push_back(its);
    }
    for (const RoleCase& role : kernel.roles) {
      for (const RangeCase& range : role.ranges) {
        if (!range.posts) continue;
        posted_[static_cast<std::size_t>(*range.posts)] +=
            range.per_tile ? static_cast<std::uint64_t>(range.tiles) : 1;
      }
    }
  }

  void clamp(RangeCase& range) const {
    if (!range.waits) return;
    const std::uint64_t reached = posted_[static_cast<std::size_t>(*range.waits)];
    range.at_least = std::min(range.at_least, reached);
    if (reached == 0) range.waits.reset();
  }

  [[nodiscard]] KernelCase of_rank(KernelCase kernel, int rank) const {
    for (RoleCase& role : kernel.roles) {
      for (RangeCase& range : role.ranges) {
        if (range.way) range.way = way_of(*range.way, rank, true);
        if (range.waits) range.waits = signal_of(*range.waits, rank);
        if (range.posts) {
          range.posts = signal_of(*range.posts, peer(rank, distance(*range.posts)));
        }
      }
    }
    return kernel;
  }

  // The first rank's member stands for all: the gangs are of all ranks, or of pairs.
  void mirror_gang(const OperationCase& op, const KernelCase& kernel) {
    const GangCase& drawn = drawn_.gangs[static_cast<std::size_t>(*kernel.gang)];
    const int size = turn_ == Turn::exclusive_or && drawn.chunks % 2 == 0 ? 2 : ranks_;
    const auto first_kernel = static_cast<int>(all_.kernels.size());
    const auto first_gang = static_cast<int>(all_.gangs.size());
    for (int begin = 0; begin < ranks_; begin += size) {
      GangCase gang = drawn;
      gang.ranks.resize(static_cast<std::size_t>(size));
      std::iota(gang.ranks.begin(), gang.ranks.end(), begin);
      gang.posts.clear();
      for (const int signal : drawn.posts) {
        for (const int rank : gang.ranks) gang.posts.push_back(signal_of(signal, rank));
      }
      all_.gangs.push_back(gang);
    }
    for (const int signal : drawn.posts) {
      posted_[static_cast<std::size_t>(signal)] += static_cast<std::uint64_t>(drawn.chunks);
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      KernelCase member = kernel;
      member.gang = first_gang + rank / size;
      member.member = static_cast<std::uint32_t>(rank % size);
      all_.kernels.push_back(member);
      OperationCase its = op;
      its.rank = rank;
      its.kernel = first_kernel + rank;
      all_.operations.push_back(its);
    }
  }

  const Case& drawn_;
  int ranks_;
  Turn turn_;
  Case all_;
  std::vector<std::uint64_t> posted_;  // by drawn signal, for each rank
  std::vector<bool> recorded_;         // by drawn event
  std::map<int, int> kernels_;         // drawn kernel to that of rank 0
};

}  // namespace

Case symmetric(const Case& drawn, int ranks, Turn turn) {
  return Mirror(drawn, ranks, turn).make();
}

}  // namespace weft::sim::laws
