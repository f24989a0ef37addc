// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "sim/program_builder.hpp"
#include "tests/sim/laws/random_program.hpp"

namespace weft::sim::laws {

namespace {

class Assembler {
 public:
  Assembler(const Case& drawn, const Assembly& how) : case_(drawn), how_(how) {
    const std::size_t ranks = case_.ranks.size();
    place_ = how.place_of_rank;
    if (place_.empty()) {
      place_.resize(ranks);
      std::iota(place_.begin(), place_.end(), 0);
    }
    rank_at_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      rank_at_[static_cast<std::size_t>(place_[r])] = static_cast<int>(r);
    }
  }

  Assembled assemble() {
    make_machine();
    make_names();
    for (const int kernel : order_of(case_.kernels.size(), 3)) make_kernel(kernel);
    for (const int rank : rank_at_) make_thread(rank);
    Assembled made{.machine = machine_, .program = builder_.finish(), .rank_of_thread = rank_at_};
    return made;
  }

 private:
  using Kind = OperationCase::Kind;
  static constexpr int kThreads = 2048;
  static constexpr int kRegisters = 65536;
  static constexpr std::int64_t kSharedMemory = 228 * 1024;
  static constexpr std::int64_t kNicBytesPerSecond = 25'000'000'000;

  [[nodiscard]] std::uint32_t place(int rank) const {
    return static_cast<std::uint32_t>(place_[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] Duration time(std::int64_t ps) const {
    return Duration::from_ps(ps * how_.time_scale);
  }
  [[nodiscard]] Duration time(Duration d) const { return d * how_.time_scale; }
  [[nodiscard]] Bytes size(std::int64_t bytes) const {
    return Bytes::from(bytes * how_.time_scale);
  }
  [[nodiscard]] static Bandwidth rate(std::int64_t bytes_per_second) {
    return Bandwidth::from_bytes_per_second(bytes_per_second);
  }

  // 0, 1, ..., n - 1, shuffled if the numbering is.
  [[nodiscard]] std::vector<int> order_of(std::size_t n, std::uint64_t what) const {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    if (how_.numbering_seed == 0) return order;
    std::mt19937_64 random(how_.numbering_seed * 8 + what);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  }

  void make_machine() {
    const auto planes = static_cast<std::uint32_t>(case_.planes);
    machine_.name = "drawn";
    ControlLatency control = case_.control;
    for (Duration* d : {&control.launch, &control.kernel_drain, &control.event_hop,
                        &control.signal_same_sm, &control.signal_same_device, &control.signal_peer,
                        &control.signal_host, &control.stream_memory_op}) {
      *d = time(*d);
    }
    machine_.control = control;
    for (std::uint32_t p = 0; p < planes; ++p) {
      Switch plane;
      plane.name = "plane";
      plane.multicasts = true;
      plane.reduces = true;
      if (case_.plane_capacity > 0) plane.capacity = rate(case_.plane_capacity);
      machine_.switches.push_back(plane);
    }
    for (const int rank : rank_at_) make_rank(case_.ranks[static_cast<std::size_t>(rank)]);
    make_routes();
  }

  void make_rank(const RankCase& drawn) {
    const auto at = static_cast<std::uint32_t>(machine_.devices.size());
    Device device{.name = "device",
                  .sms = {.sms_per_gpc = drawn.sms_per_gpc,
                          .per_sm = {.threads = kThreads,
                                     .registers = kRegisters,
                                     .shared_memory = Bytes::from(kSharedMemory),
                                     .cta_slots = drawn.cta_slots}},
                  .memory = MemoryId(at),
                  .l2 = rate(drawn.l2),
                  .engines = {},
                  .interference = {}};
    for (const RankCase::Engine& engine : drawn.engines) {
      TransportEngine made;
      made.start_cost = time(engine.start_cost);
      made.concurrency = engine.concurrency;
      if (engine.rate > 0) made.rate = rate(engine.rate);
      made.weight_milli_ctas = engine.weight;
      device.engines.push_back(made);
    }
    machine_.devices.push_back(device);
    machine_.memories.push_back({.name = "hbm",
                                 .device = DeviceId(at),
                                 .bandwidth = rate(drawn.hbm),
                                 .size = Bytes::from(std::int64_t{1} << 40)});
    machine_.processes.push_back({.name = "process",
                                  .launch_cost = time(drawn.launch_cost),
                                  .graph_launch_cost = time(drawn.launch_cost),
                                  .max_connections = drawn.max_connections});
    machine_.ranks.push_back({.device = DeviceId(at), .process = ProcessId(at), .sms_per_gpc = {}});
    machine_.nics.push_back({.name = "nic", .queue_pairs = 1, .message_cost = time(500'000)});
    for (int p = 0; p < case_.planes; ++p) {
      for (int way = 0; way < 2; ++way) {
        machine_.links.push_back({.name = "port",
                                  .capacity_per_direction = rate(drawn.port / case_.planes),
                                  .latency = time(case_.hop_latency)});
      }
    }
    machine_.links.push_back({.name = "rail",
                              .capacity_per_direction = rate(kNicBytesPerSecond),
                              .latency = time(case_.hop_latency)});
  }

  // Links of a rank: out and in of each plane, then its rail.
  [[nodiscard]] std::uint32_t link(std::uint32_t at, int plane, int way) const {
    return at * static_cast<std::uint32_t>(2 * case_.planes + 1) +
           static_cast<std::uint32_t>(2 * plane + way);
  }
  [[nodiscard]] std::uint32_t rail(std::uint32_t at) const { return link(at, case_.planes, 0); }
  [[nodiscard]] std::uint32_t ranks() const {
    return static_cast<std::uint32_t>(case_.ranks.size());
  }

  // Routes: [from][to] by the planes, then [from][to] by rails, then [from] to all others.
  void make_routes() {
    for (std::uint32_t from = 0; from < ranks(); ++from) {
      for (std::uint32_t to = 0; to < ranks(); ++to) {
        Route route = make_route(from, {to});
        if (from == to) {
          route.shares.clear();
          route.denominator = 1;
          route.latency = {};
        }
        machine_.routes.push_back(route);
      }
    }
    for (std::uint32_t from = 0; from < ranks(); ++from) {
      for (std::uint32_t to = 0; to < ranks(); ++to) {
        Route route;
        route.name = "rail";
        route.sources = {MemoryId(from)};
        route.targets = {MemoryId(to)};
        route.shares = {{.on = RouteShare::On::link, .index = rail(from)}};
        if (from != to) route.shares.push_back({.on = RouteShare::On::link, .index = rail(to)});
        route.latency = time(2 * case_.hop_latency);
        route.nic = NicId(from);
        machine_.routes.push_back(route);
      }
    }
    for (std::uint32_t from = 0; from < ranks(); ++from) {
      std::vector<std::uint32_t> others;
      for (std::uint32_t to = 0; to < ranks(); ++to) {
        if (to != from) others.push_back(to);
      }
      if (others.empty()) others.push_back(from);
      Route route = make_route(from, others);
      if (others.size() > 1) route.kind = Route::Kind::multicast;
      machine_.routes.push_back(route);
    }
  }

  [[nodiscard]] Route make_route(std::uint32_t from, const std::vector<std::uint32_t>& to) const {
    Route route;
    route.name = "planes";
    route.sources = {MemoryId(from)};
    route.denominator = case_.planes;
    route.latency = time(2 * case_.hop_latency);
    for (int p = 0; p < case_.planes; ++p) {
      route.shares.push_back({.on = RouteShare::On::link, .index = link(from, p, 0)});
      route.shares.push_back(
          {.on = RouteShare::On::fabric_switch, .index = static_cast<std::uint32_t>(p)});
      for (const std::uint32_t target : to) {
        route.shares.push_back({.on = RouteShare::On::link, .index = link(target, p, 1)});
      }
    }
    for (const std::uint32_t target : to) route.targets.emplace_back(target);
    return route;
  }

  [[nodiscard]] RouteId route(int from, int to) const {
    return RouteId(place(from) * ranks() + place(to));
  }
  [[nodiscard]] RouteId rail_route(int from, int to) const {
    return RouteId((ranks() + place(from)) * ranks() + place(to));
  }
  [[nodiscard]] RouteId multicast_route(int from) const {
    return RouteId(2 * ranks() * ranks() + place(from));
  }

  void make_names() {
    signals_.assign(case_.signal_owner.size(), SignalId(0));
    for (const int s : order_of(case_.signal_owner.size(), 1)) {
      const auto at = static_cast<std::size_t>(s);
      signals_[at] = builder_.signal(MemoryId(place(case_.signal_owner[at])));
    }
    events_.assign(static_cast<std::size_t>(case_.events), EventId(0));
    for (const int e : order_of(events_.size(), 2)) {
      events_[static_cast<std::size_t>(e)] = builder_.event();
    }
    for (const int rank : rank_at_) {
      std::vector<StreamId>& mine = streams_.emplace_back();
      for (const int priority : case_.ranks[static_cast<std::size_t>(rank)].stream_priorities) {
        mine.push_back(builder_.stream(RankId(place(rank)), priority));
      }
    }
    kernels_.assign(case_.kernels.size(), KernelId(0));
    for (const GangCase& gang : case_.gangs) gangs_.push_back(make_gang(gang));
  }

  GangId make_gang(const GangCase& gang) {
    GangWriter writer = builder_.gang("gang", size(gang.bytes), rate(gang.cap));
    writer.start_latency(time(gang.start_latency)).denominator(case_.planes);
    std::vector<SignalPost> posts;
    if (gang.posts) {
      posts.assign(static_cast<std::size_t>(gang.chunks),
                   {.signal = signals_[static_cast<std::size_t>(*gang.posts)], .from = {}});
    }
    writer.chunks(gang.chunks, posts);
    for (const int rank : gang.ranks) {
      writer.member(RankId(place(rank))).memory(MemoryId(place(rank)), 2 * case_.planes);
      for (int p = 0; p < case_.planes; ++p) {
        writer.link(LinkId(link(place(rank), p, 0)), 1).link(LinkId(link(place(rank), p, 1)), 1);
      }
    }
    return writer.id();
  }

  void make_kernel(int index) {
    const KernelCase& drawn = case_.kernels[static_cast<std::size_t>(index)];
    if (drawn.gang) {
      KernelWriter writer = builder_.gang_kernel(
          "member", gangs_[static_cast<std::size_t>(*drawn.gang)], drawn.member, drawn.ctas);
      kernels_[static_cast<std::size_t>(index)] = writer.footprint(drawn.footprint).id();
      return;
    }
    KernelWriter writer = builder_.kernel("kernel", drawn.ctas);
    writer.cluster(drawn.cluster).footprint(drawn.footprint).prologue(time(drawn.prologue));
    if (drawn.trigger_after) writer.trigger_after(*drawn.trigger_after);
    const int owner = owner_of(index);
    for (const RoleCase& role : drawn.roles) {
      if (role.scope == Role::Scope::ctas) {
        writer.role(Purpose::compute, role.order, role.ctas);
      } else {
        writer.warp_group(Purpose::compute, role.order);
      }
      for (const RangeCase& range : role.ranges) make_range(writer, range, owner);
    }
    kernels_[static_cast<std::size_t>(index)] = writer.id();
  }

  // The rank whose memory a kernel works on: the first that launches it.
  [[nodiscard]] int owner_of(int kernel) const {
    for (const OperationCase& op : case_.operations) {
      if (op.kind == Kind::launch && op.kernel == kernel) return op.rank;
    }
    return 0;
  }

  void make_range(KernelWriter& writer, const RangeCase& range, int owner) {
    writer.range(range.tiles, time(range.sm_time), range.demand);
    if (range.l2_bytes > 0) writer.l2(size(range.l2_bytes));
    if (range.hbm_bytes > 0) writer.memory(MemoryId(place(owner)), size(range.hbm_bytes));
    if (range.peer) writer.route(route(owner, *range.peer), size(range.peer_bytes));
    if (range.waits) {
      writer.wait(signals_[static_cast<std::size_t>(*range.waits)], range.at_least,
                  range.run_ahead);
    }
    if (range.posts) {
      writer.post({.signal = signals_[static_cast<std::size_t>(*range.posts)], .from = {}},
                  range.per_tile);
    }
  }

  void make_thread(int rank) {
    CallWriter thread = builder_.thread(ProcessId(place(rank)));
    std::optional<CallWriter> graph;
    for (const OperationCase& op : case_.operations) {
      if (op.rank != rank) continue;
      if (op.in_graph) {
        if (!graph) graph = builder_.graph();
        make_call(*graph, op);
        continue;
      }
      if (graph) thread.graph_launch(graph->graph_id());
      graph.reset();
      make_call(thread, op);
    }
    if (graph) thread.graph_launch(graph->graph_id());
  }

  void make_call(CallWriter& calls, const OperationCase& op) {
    const StreamId stream = streams_[place(op.rank)][static_cast<std::size_t>(op.stream)];
    const auto event = [&] { return events_[static_cast<std::size_t>(op.event)]; };
    const auto signal = [&] { return signals_[static_cast<std::size_t>(op.signal)]; };
    const auto kernel = [&] { return kernels_[static_cast<std::size_t>(op.kernel)]; };
    switch (op.kind) {
      case Kind::launch:
        if (op.programmatic) {
          calls.launch_programmatic(stream, kernel(), op.waits_for_predecessor);
        } else {
          calls.launch(stream, kernel());
        }
        break;
      case Kind::copy:
        calls.copy(stream, op.engine,
                   op.multicast ? multicast_route(op.rank) : route(op.rank, op.peer),
                   size(op.bytes));
        break;
      case Kind::message:
        calls.message(stream, rail_route(op.rank, op.peer), 0, size(op.bytes),
                      {.signal = signal(), .from = {}});
        break;
      case Kind::record:
        calls.record(stream, event());
        break;
      case Kind::wait_event:
        calls.wait(stream, event());
        break;
      case Kind::wait_signal:
        calls.wait(stream, signal(), op.value);
        break;
      case Kind::post:
        calls.post(stream, {.signal = signal(), .value = op.value, .from = {}});
        break;
      case Kind::host_wait:
        calls.host_wait(event());
        break;
      case Kind::host_delay:
        calls.host_delay(time(op.delay));
        break;
    }
  }

  const Case& case_;
  Assembly how_;
  std::vector<int> place_;
  std::vector<int> rank_at_;  // logical rank at each place
  Machine machine_;
  ProgramBuilder builder_;
  std::vector<SignalId> signals_;
  std::vector<EventId> events_;
  std::vector<std::vector<StreamId>> streams_;  // by place
  std::vector<GangId> gangs_;
  std::vector<KernelId> kernels_;
};

}  // namespace

Assembled assemble(const Case& drawn, const Assembly& how) {
  return Assembler(drawn, how).assemble();
}

}  // namespace weft::sim::laws
