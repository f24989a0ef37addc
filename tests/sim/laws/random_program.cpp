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
    const int devices = static_cast<int>(1 + below(4));
    for (int d = 0; d < devices; ++d) draw_device(d);
    case_.planes = static_cast<int>(one_in(2) ? 1 : 1 + below(4));
    if (one_in(2)) case_.plane_capacity = between(50, 400) * kGB / case_.planes;
    demands_ = one_in(2);
    if (!one_in(3)) draw_latencies();
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
  int small(int a, int b) { return static_cast<int>(between(a, b)); }
  std::int64_t time() { return one_in(8) ? 0 : between(1, 20 * kMicrosecond); }
  std::int64_t bytes() { return one_in(12) ? 0 : between(1, 4'000'000); }

  // A device with one to three ranks, which have all of it together or a partition each.
  void draw_device(int index) {
    DeviceCase d;
    const std::uint64_t gpcs = 1 + below(3);
    for (std::uint64_t g = 0; g < gpcs; ++g) d.sms_per_gpc.push_back(small(2, 6));
    d.cta_slots = small(16, 24);
    d.hbm = one_in(4) ? 0 : between(200, 2000) * kGB;
    d.l2 = one_in(2) ? 0 : between(500, 3000) * kGB;
    d.port = between(20, 200) * kGB;
    if (one_in(6)) d.speed_permille = between(500, 1000);
    const std::uint64_t engines = 1 + below(2);
    for (std::uint64_t e = 0; e < engines; ++e) {
      d.engines.push_back({.start_cost = one_in(2) ? 0 : between(1, 2 * kMicrosecond),
                           .concurrency = small(1, 2),
                           .rate = one_in(2) ? 0 : between(10, 100) * kGB,
                           .weight = one_in(2) ? 1000 : between(500, 16000)});
    }
    if (one_in(3)) d.terms = draw_terms();
    // Two devices may share a NIC; each rank then has a queue pair of its own.
    if (case_.nics.empty() || !one_in(3)) case_.nics.push_back(0);
    d.nic = static_cast<int>(case_.nics.size()) - 1;
    const int ranks = one_in(3) ? small(2, 3) : 1;
    std::vector<int> left = d.sms_per_gpc;
    const bool parts = one_in(2) && total_sms(left) >= 2 * ranks;
    for (int r = 0; r < ranks; ++r) {
      RankCase rank = draw_rank(index);
      if (r == 0 || one_in(2)) ++case_.nics.back();
      rank.queue_pair = case_.nics.back() - 1;
      if (parts) rank.partition = draw_partition(left, ranks - r);
      case_.ranks.push_back(rank);
    }
    case_.devices.push_back(d);
  }

  // About an equal share of what is left, two SMs at least.
  std::vector<int> draw_partition(std::vector<int>& left, int takers) {
    std::vector<int> part(left.size(), 0);
    int want = std::max(2, total_sms(left) / takers);
    while (want > 0) {
      const std::size_t gpc = below(left.size());
      if (left[gpc] == 0) continue;
      --left[gpc];
      ++part[gpc];
      --want;
    }
    return part;
  }

  std::vector<Interference> draw_terms() {
    std::vector<Interference> terms(1 + below(2));
    for (Interference& term : terms) {
      term.name = "term";
      term.access = one_in(2) ? Interference::Access::posted_write : Interference::Access::read;
      term.full_link = one_in(2);
      int ctas = 0;
      std::int64_t slowdown = 1000;
      const std::uint64_t points = 1 + below(2);
      for (std::uint64_t p = 0; p < points; ++p) {
        ctas += small(1, 6);
        slowdown += between(0, 1500);
        term.points.push_back({.ctas = ctas, .slowdown_milli = slowdown});
      }
    }
    return terms;
  }

  RankCase draw_rank(int device) {
    RankCase r;
    r.device = device;
    const std::uint64_t streams = 1 + below(3);
    for (std::uint64_t s = 0; s < streams; ++s) r.stream_priorities.push_back(small(-1, 1));
    if (one_in(2)) r.launch_cost = between(1, 4 * kMicrosecond);
    r.max_connections = one_in(3) ? 1 : small(2, 8);
    return r;
  }

  [[nodiscard]] const DeviceCase& device_of(int rank) const {
    const RankCase& its = case_.ranks[static_cast<std::size_t>(rank)];
    return case_.devices[static_cast<std::size_t>(its.device)];
  }

  // SMs have no engine that reads: a copy goes anywhere, tiles to or from other devices.
  WayCase draw_way(bool of_tiles, int own) {
    WayCase way{.over = WayCase::Over::peer, .peer = rank()};
    const bool alone = case_.devices.size() == 1;
    if (alone || one_in(6)) {
      way.over = one_in(2) ? WayCase::Over::to_host : WayCase::Over::from_host;
      if (!of_tiles && one_in(2)) way.over = WayCase::Over::peer;
    } else if (one_in(3)) {
      way.over = one_in(2) ? WayCase::Over::multicast : WayCase::Over::reduce;
    } else if (of_tiles) {
      while (case_.ranks[static_cast<std::size_t>(way.peer)].device ==
             case_.ranks[static_cast<std::size_t>(own)].device) {
        way.peer = rank();
      }
    }
    return way;
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
    case_.control.stream_write = short_time();
    case_.control.stream_wait = short_time();
    case_.control.stream_poll = short_time();
    if (one_in(2)) {
      case_.control.launch_jitter = Duration::from_ps(between(0, case_.control.launch.ps()));
    }
    if (one_in(2)) case_.control.stream_wait_there = short_time();
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
        op.way = draw_way(false, op.rank);
        op.engine = static_cast<std::uint32_t>(below(device_of(op.rank).engines.size()));
        op.bytes = bytes();
        break;
      case 6:
        op.kind = Kind::message;
        op.way.peer = rank();
        op.bytes = bytes();
        op.signal = post_to(1);
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
        op.signal = post_to(op.value);
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

  int post_to(std::uint64_t value) {
    if (posted_.empty() || one_in(3)) {
      case_.signal_owner.push_back(one_in(8) ? std::nullopt : std::optional(rank()));
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
    const int sms =
        total_sms(own.partition.empty() ? device_of(own_rank).sms_per_gpc : own.partition);
    kernel.label = small(0, 3);
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
        if (!range.posts) continue;
        posted_[static_cast<std::size_t>(*range.posts)] +=
            range.per_tile ? static_cast<std::uint64_t>(range.tiles) : 1;
      }
    }
    case_.kernels.push_back(kernel);
    const int index = static_cast<int>(case_.kernels.size()) - 1;
    if (!signals) plain_kernels_.push_back(index);
    return index;
  }

  SmDemand draw_demand() {
    return {.tensor_milli = small(0, 1000),
            .issue_milli = small(0, 600),
            .load_store_milli = small(0, 600)};
  }

  RoleCase draw_role(int own_rank, Role::Scope scope, int ctas, bool waits, bool& signals) {
    RoleCase role;
    role.scope = scope;
    role.ctas = ctas;
    const TileOrder orders[] = {TileOrder::static_shares, TileOrder::counter,
                                TileOrder::ready_first, TileOrder::own_then_counter};
    role.order = orders[below(4)];
    if (waits && demands_) role.spin = small(0, 400);
    const std::uint64_t ranges = 1 + below(3);
    for (std::uint64_t i = 0; i < ranges; ++i) {
      RangeCase range;
      range.tiles = one_in(10) ? 0 : between(1, 3L * ctas);
      range.sm_time = time();
      if (demands_) range.demand = draw_demand();
      if (one_in(2)) range.hbm_bytes = between(1, 2'000'000);
      if (one_in(3)) range.l2_bytes = between(1, 4'000'000);
      if (one_in(3)) {
        range.way = draw_way(true, own_rank);
        range.way_bytes = between(1, 500'000);
        range.posted_write = one_in(2);
      }
      int signal = 0;
      if (waits && one_in(2) && draw_wait(signal, range.at_least)) {
        range.waits = signal;
        range.run_ahead = one_in(3) ? static_cast<int>(between(1, 3)) : 0;
        signals = true;
      }
      if (one_in(3)) {
        range.posts = post_to(0);
        range.per_tile = one_in(2);
        signals = true;
      }
      role.ranges.push_back(range);
    }
    return role;
  }

  // A collective of ranks on two or more devices: each launches its member at this point of its
  // calls.
  void draw_gang() {
    if (case_.devices.size() < 2) return;
    GangCase gang;
    std::vector<int> ranks(case_.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    ranks.resize(2 + below(ranks.size() - 1));
    gang.ranks = ranks;
    gang.cap = between(10, 300) * kGB;
    gang.start_latency = one_in(2) ? 0 : between(1, 3 * kMicrosecond);
    if (demands_) gang.demand = draw_demand();
    gang.chunks = static_cast<int>(one_in(2) ? 1 : 1 + below(4));
    // Chunks end at whole bytes: equal ones scale with time.
    gang.bytes = bytes() / gang.chunks * gang.chunks;
    if (one_in(2)) {
      gang.posts = {post_to(static_cast<std::uint64_t>(gang.chunks))};
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

Assembly relabelled(const Case& drawn) {
  Assembly how;
  how.place_of_rank.resize(drawn.ranks.size());
  int place = 0;
  for (auto device = static_cast<int>(drawn.devices.size()) - 1; device >= 0; --device) {
    for (std::size_t r = 0; r < drawn.ranks.size(); ++r) {
      if (drawn.ranks[r].device == device) how.place_of_rank[r] = place++;
    }
  }
  return how;
}

Case draw_case(std::uint64_t seed) {
  return Drawing(seed).draw();
}

}  // namespace weft::sim::laws
