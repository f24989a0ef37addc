// SPDX-License-Identifier: Apache-2.0
// The drawing; random_assembly.cpp makes machines and programs of it.
#include "tests/sim/laws/random_program.hpp"

#include <algorithm>
#include <numeric>

namespace weft::sim::laws {

namespace {

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) { case_.seed = seed; }

  Case draw() {
    const int ranks = static_cast<int>(1 + below(4));
    for (int r = 0; r < ranks; ++r) case_.ranks.push_back(draw_rank());
    case_.planes = static_cast<int>(one_in(2) ? 1 : 1 + below(4));
    if (one_in(2)) case_.plane_capacity = between(50, 400) * kGB / case_.planes;
    demands_ = one_in(2);
    const bool latencies = !one_in(3);
    if (latencies) draw_latencies();
    const std::uint64_t operations = 3 + below(40);
    for (std::uint64_t i = 0; i < operations; ++i) draw_operation();
    return case_;
  }

 private:
  using Kind = OperationCase::Kind;
  static constexpr std::int64_t kGB = 1'000'000'000;
  static constexpr std::int64_t kMicrosecond = 1'000'000;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::int64_t between(std::int64_t a, std::int64_t b) {
    return a + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(b - a + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  int rank() { return static_cast<int>(below(case_.ranks.size())); }
  std::int64_t time() { return one_in(8) ? 0 : between(1, 20 * kMicrosecond); }
  std::int64_t bytes() { return one_in(12) ? 0 : between(1, 4'000'000); }

  RankCase draw_rank() {
    RankCase r;
    const std::uint64_t gpcs = 1 + below(3);
    for (std::uint64_t g = 0; g < gpcs; ++g) {
      r.sms_per_gpc.push_back(static_cast<int>(between(2, 6)));
    }
    r.cta_slots = static_cast<int>(between(6, 16));
    r.hbm = one_in(4) ? 0 : between(200, 2000) * kGB;
    r.l2 = one_in(2) ? 0 : between(500, 3000) * kGB;
    r.port = between(20, 200) * kGB;
    const std::uint64_t engines = 1 + below(2);
    for (std::uint64_t e = 0; e < engines; ++e) {
      r.engines.push_back({.start_cost = one_in(2) ? 0 : between(1, 2 * kMicrosecond),
                           .concurrency = static_cast<int>(between(1, 2)),
                           .rate = one_in(2) ? 0 : between(10, 100) * kGB,
                           .weight = one_in(2) ? 1000 : between(500, 16000)});
    }
    const std::uint64_t streams = 1 + below(3);
    for (std::uint64_t s = 0; s < streams; ++s) {
      r.stream_priorities.push_back(static_cast<int>(between(-1, 1)));
    }
    if (one_in(2)) r.launch_cost = between(1, 4 * kMicrosecond);
    r.max_connections = one_in(3) ? 1 : static_cast<int>(between(2, 8));
    return r;
  }

  void draw_latencies() {
    const auto short_time = [&] { return Duration::from_ps(between(0, 3 * kMicrosecond)); };
    case_.hop_latency = between(0, kMicrosecond);
    case_.control.launch = short_time();
    case_.control.kernel_drain = short_time();
    case_.control.event_hop = short_time();
    case_.control.signal_same_sm = Duration::from_ps(between(0, 100'000));
    case_.control.signal_same_device = Duration::from_ps(between(0, 900'000));
    case_.control.signal_peer = short_time();
    case_.control.signal_host = short_time();
    case_.control.stream_memory_op = short_time();
  }

  void draw_operation() {
    OperationCase op;
    op.rank = rank();
    const RankCase& own = case_.ranks[static_cast<std::size_t>(op.rank)];
    op.stream = static_cast<int>(below(own.stream_priorities.size()));
    op.in_graph = one_in(5);
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return draw_launch(op);
      case 4:
      case 5:
        op.kind = Kind::copy;
        op.peer = rank();
        op.multicast = case_.ranks.size() > 1 && one_in(5);
        op.engine = static_cast<std::uint32_t>(below(own.engines.size()));
        op.bytes = bytes();
        break;
      case 6:
        op.kind = Kind::message;
        op.peer = rank();
        op.bytes = bytes();
        op.signal = post_to(rank(), 1);
        break;
      case 7:
        return draw_event(op);
      case 8:
        if (!draw_wait(op.signal, op.value)) return;
        op.kind = Kind::wait_signal;
        break;
      case 9:
        op.kind = Kind::post;
        op.value = 1 + below(3);
        op.signal = post_to(rank(), op.value);
        break;
      case 10:
        op.in_graph = false;
        op.kind = Kind::host_delay;
        op.delay = time();
        break;
      default:
        return draw_gang();
    }
    case_.operations.push_back(op);
  }

  // A record on one stream, and a wait for it on another (of any rank) or by the host.
  void draw_event(OperationCase op) {
    op.kind = Kind::record;
    op.event = case_.events++;
    case_.operations.push_back(op);
    OperationCase wait = op;
    if (one_in(4)) {
      wait.kind = Kind::host_wait;
      wait.in_graph = false;
    } else {
      wait.kind = Kind::wait_event;
      wait.in_graph = false;
      wait.rank = one_in(2) ? op.rank : rank();
      const RankCase& other = case_.ranks[static_cast<std::size_t>(wait.rank)];
      wait.stream = static_cast<int>(below(other.stream_priorities.size()));
    }
    case_.operations.push_back(wait);
  }

  int post_to(int owner, std::uint64_t value) {
    if (posted_.empty() || one_in(3)) {
      case_.signal_owner.push_back(owner);
      posted_.push_back(0);
    }
    const auto signal = static_cast<int>(below(posted_.size()));
    posted_[static_cast<std::size_t>(signal)] += value;
    return signal;
  }

  // A value that operations before this one reach.
  bool draw_wait(int& signal, std::uint64_t& at_least) {
    if (posted_.empty()) return false;
    signal = static_cast<int>(below(posted_.size()));
    const std::uint64_t reached = posted_[static_cast<std::size_t>(signal)];
    if (reached == 0) return false;
    at_least = 1 + below(reached);
    return true;
  }

  void draw_launch(OperationCase op) {
    op.kind = Kind::launch;
    if (!plain_kernels_.empty() && one_in(5)) {
      op.kernel = plain_kernels_[below(plain_kernels_.size())];
    } else {
      op.kernel = draw_kernel(op.rank);
    }
    op.programmatic = one_in(6);
    op.waits_for_predecessor = !one_in(3);
    case_.operations.push_back(op);
  }

  int draw_kernel(int own_rank) {
    KernelCase kernel;
    const RankCase& own = case_.ranks[static_cast<std::size_t>(own_rank)];
    const int sms = total_sms(own.sms_per_gpc);
    // Waiting kernels are small and need little: they never keep out the ones that they wait for.
    const bool waits = one_in(4);
    kernel.footprint = waits ? Footprint{.threads = 32, .registers = 0, .shared_memory = {}}
                             : Footprint{.threads = static_cast<int>(32 * between(1, 16)),
                                         .registers = static_cast<int>(between(0, 16'000)),
                                         .shared_memory = Bytes::from(between(0, 100'000))};
    kernel.cluster = !waits && one_in(5) ? 2 : 1;
    const int most = waits ? 2 : 3 * sms;
    kernel.ctas = static_cast<int>(between(1, most)) * kernel.cluster;
    if (one_in(3)) kernel.prologue = between(1, kMicrosecond);
    const std::uint64_t shape = below(4);
    bool signals = false;
    if (shape == 0 && kernel.ctas >= 2 && kernel.cluster == 1) {
      const int first = static_cast<int>(between(1, kernel.ctas - 1));
      kernel.roles.push_back(draw_role(own_rank, Role::Scope::ctas, first, waits, signals));
      kernel.roles.push_back(
          draw_role(own_rank, Role::Scope::ctas, kernel.ctas - first, waits, signals));
    } else if (shape == 1) {
      for (int i = 0; i < 2; ++i) {
        kernel.roles.push_back(
            draw_role(own_rank, Role::Scope::warp_group, kernel.ctas, waits, signals));
      }
    } else if (shape == 2 && kernel.cluster == 1 && !waits) {
      RoleCase role = draw_role(own_rank, Role::Scope::ctas, kernel.ctas, false, signals);
      role.order = TileOrder::one_cta_per_tile;
      role.ctas = 0;
      kernel.roles.push_back(role);
      kernel.ctas = 0;
      std::int64_t tiles = 0;
      for (const RangeCase& range : role.ranges) tiles += range.tiles;
      if (tiles == 0) kernel.roles.front().ranges.front().tiles = 1;
    } else {
      kernel.roles.push_back(draw_role(own_rank, Role::Scope::ctas, kernel.ctas, waits, signals));
    }
    if (one_in(4)) kernel.trigger_after = between(0, 4);
    // What the posts of all its ranges add up to is known now that tile numbers are final.
    for (const RoleCase& role : kernel.roles) {
      for (const RangeCase& range : role.ranges) {
        if (!range.posts || range.tiles == 0) continue;
        posted_[static_cast<std::size_t>(*range.posts)] +=
            range.per_tile ? static_cast<std::uint64_t>(range.tiles) : 1;
      }
    }
    case_.kernels.push_back(kernel);
    const int index = static_cast<int>(case_.kernels.size()) - 1;
    if (!signals) plain_kernels_.push_back(index);
    return index;
  }

  RoleCase draw_role(int own_rank, Role::Scope scope, int ctas, bool waits, bool& signals) {
    RoleCase role;
    role.scope = scope;
    role.ctas = ctas;
    const TileOrder orders[] = {TileOrder::static_shares, TileOrder::counter,
                                TileOrder::ready_first};
    role.order = orders[below(3)];
    const std::uint64_t ranges = 1 + below(3);
    for (std::uint64_t i = 0; i < ranges; ++i) {
      RangeCase range;
      range.tiles = one_in(10) ? 0 : between(1, 3L * ctas);
      range.sm_time = time();
      if (demands_)
        range.demand = {.tensor_milli = static_cast<int>(between(0, 1000)),
                        .issue_milli = static_cast<int>(between(0, 600)),
                        .load_store_milli = static_cast<int>(between(0, 600))};
      if (one_in(2)) range.hbm_bytes = between(1, 2'000'000);
      if (one_in(3)) range.l2_bytes = between(1, 4'000'000);
      if (case_.ranks.size() > 1 && one_in(3)) {
        range.peer = rank();
        if (*range.peer == own_rank)
          range.peer = (own_rank + 1) % static_cast<int>(case_.ranks.size());
        range.peer_bytes = between(1, 500'000);
      }
      int signal = 0;
      if (waits && one_in(2) && draw_wait(signal, range.at_least)) {
        range.waits = signal;
        range.run_ahead = one_in(3) ? static_cast<int>(between(1, 3)) : 0;
        signals = true;
      }
      if (one_in(3)) {
        range.posts = post_to(rank(), 0);
        range.per_tile = one_in(2);
        signals = true;
      }
      role.ranges.push_back(range);
    }
    return role;
  }

  // A collective of two or more ranks: each launches its member at this point of its calls.
  void draw_gang() {
    if (case_.ranks.size() < 2) return;
    GangCase gang;
    std::vector<int> ranks(case_.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    ranks.resize(2 + below(ranks.size() - 1));
    gang.ranks = ranks;
    gang.cap = between(10, 300) * kGB;
    gang.start_latency = one_in(2) ? 0 : between(1, 3 * kMicrosecond);
    gang.chunks = static_cast<int>(one_in(2) ? 1 : 1 + below(4));
    // Chunks end at whole bytes: equal ones scale with time.
    gang.bytes = bytes() / gang.chunks * gang.chunks;
    if (one_in(2)) {
      gang.posts = post_to(rank(), static_cast<std::uint64_t>(gang.chunks));
    }
    const auto index = static_cast<int>(case_.gangs.size());
    case_.gangs.push_back(gang);
    for (std::uint32_t m = 0; m < gang.ranks.size(); ++m) {
      KernelCase kernel;
      kernel.ctas = static_cast<int>(between(1, 2));
      kernel.footprint = {.threads = 32, .registers = 0, .shared_memory = {}};
      kernel.gang = index;
      kernel.member = m;
      OperationCase op;
      op.kind = Kind::launch;
      op.rank = gang.ranks[m];
      const RankCase& own = case_.ranks[static_cast<std::size_t>(op.rank)];
      op.stream = static_cast<int>(below(own.stream_priorities.size()));
      op.kernel = static_cast<int>(case_.kernels.size());
      case_.kernels.push_back(kernel);
      case_.operations.push_back(op);
    }
  }

  std::mt19937_64 random_;
  bool demands_ = false;  // tiles ask for shares of their SM's pipes
  Case case_;
  std::vector<std::uint64_t> posted_;  // by signal, by the operations so far
  std::vector<int> plain_kernels_;     // without signals: may be launched again
};

}  // namespace

Case draw_case(std::uint64_t seed) {
  return Drawing(seed).draw();
}

}  // namespace weft::sim::laws
