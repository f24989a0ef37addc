// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "sim/program_builder.hpp"
#include "tests/sim/laws/random_machine.hpp"

namespace weft::sim::laws {

namespace {

// The logical rank at each place.
std::vector<int> ranks_in_place(const Case& drawn, const Assembly& how) {
  std::vector<int> at(drawn.ranks.size());
  std::iota(at.begin(), at.end(), 0);
  for (std::size_t r = 0; r < how.place_of_rank.size(); ++r) {
    at[static_cast<std::size_t>(how.place_of_rank[r])] = static_cast<int>(r);
  }
  return at;
}

class Assembler {
 public:
  Assembler(const Case& drawn, const Assembly& how)
      : case_(drawn),
        how_(how),
        rank_at_(ranks_in_place(drawn, how)),
        place_(drawn.ranks.size()),
        machine_(drawn, how, rank_at_) {
    for (std::size_t place = 0; place < rank_at_.size(); ++place) {
      place_[static_cast<std::size_t>(rank_at_[place])] = static_cast<std::uint32_t>(place);
    }
  }

  Assembled assemble() {
    make_names();
    for (const int kernel : order_of(case_.kernels.size(), 3)) make_kernel(kernel);
    for (const int rank : rank_at_) make_thread(rank);
    return {
        .machine = machine_.machine(), .program = builder_.finish(), .rank_of_thread = rank_at_};
  }

 private:
  using Kind = OperationCase::Kind;

  [[nodiscard]] std::uint32_t place(int rank) const {
    return place_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Duration time(std::int64_t ps) const {
    return Duration::from_ps(ps * how_.time_scale);
  }
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

  void make_names() {
    signals_.assign(case_.signal_owner.size(), SignalId(0));
    for (const int s : order_of(case_.signal_owner.size(), 1)) {
      const auto at = static_cast<std::size_t>(s);
      const std::optional<int>& owner = case_.signal_owner[at];
      signals_[at] = builder_.signal(owner ? machine_.memory(*owner) : machine_.host());
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
    for (int chunk = 0; chunk < gang.chunks; ++chunk) {
      for (const int signal : gang.posts) {
        posts.push_back({.signal = signals_[static_cast<std::size_t>(signal)], .from = {}});
      }
    }
    writer.chunks(gang.chunks, posts);
    for (const int rank : gang.ranks) {
      writer.member(RankId(place(rank)), gang.demand)
          .memory(machine_.memory(rank), 2 * case_.planes);
      for (int p = 0; p < case_.planes; ++p) {
        writer.link(machine_.port(rank, p, 0), 1).link(machine_.port(rank, p, 1), 1);
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
    KernelWriter writer =
        builder_.kernel(std::string(1, static_cast<char>('a' + drawn.label)), drawn.ctas);
    writer.cluster(drawn.cluster).footprint(drawn.footprint).prologue(time(drawn.prologue));
    if (drawn.trigger_after) writer.trigger_after(*drawn.trigger_after);
    const int owner = owner_of(index);
    for (const RoleCase& role : drawn.roles) {
      if (role.scope == Role::Scope::ctas) {
        writer.role(Purpose::compute, role.order, role.ctas);
      } else {
        writer.warp_group(Purpose::compute, role.order);
      }
      writer.spin(role.spin);
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
    if (range.hbm_bytes > 0) writer.memory(machine_.memory(owner), size(range.hbm_bytes));
    if (range.way) {
      writer.route(machine_.route(owner, *range.way), size(range.way_bytes), range.posted_write);
    }
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
        calls.copy(stream, op.engine, machine_.route(op.rank, op.way), size(op.bytes));
        break;
      case Kind::message:
        calls.message(stream, machine_.rail(op.rank, op.way.peer),
                      case_.ranks[static_cast<std::size_t>(op.rank)].queue_pair, size(op.bytes),
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
  std::vector<int> rank_at_;
  std::vector<std::uint32_t> place_;  // of each logical rank
  DrawnMachine machine_;
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
