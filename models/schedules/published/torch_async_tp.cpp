// SPDX-License-Identifier: Apache-2.0
// PyTorch's asynchronous tensor parallelism: chunks of one rank each, on the current stream and one more in turn.
//
// Gather:    the shard is copied into a symmetric buffer, all ranks meet, the own shard is multiplied; then each step
//            copies the next rank's shard on its stream and multiplies it there. Copies of both streams share the one
//            copy engine that brings data in, so they do not overlap each other.
// Reduction: a step multiplies the next rank's rows into one of two symmetric buffers; ranks meet, copy what their
//            peer made for them, and meet again. The own chunk comes last, then all are added up.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/graph_writer.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TorchAsyncTp final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "torch.async_tp",
        .system = "PyTorch",
        .summary = "a chunk for each rank, alternating between two streams, moved by copy engines",
        .citation =
            "pytorch/pytorch at 006b161: torch/distributed/_symmetric_memory/__init__.py, "
            "_pipelined_all_gather_and_consume, _pipelined_produce_and_all2all",
        .knobs = {},
        .applies_to = "all-gather + product; product + reduce-scatter",
        .order =
            "one chunk a rank: its own first (all-gather) or last (reduce-scatter), then the next "
            "rank's, and so on",
        .edges = "stream order on two streams, barriers of all ranks by signals",
        .resources = "one copy engine; products on all SMs",
        .buffers =
            "a shard (all-gather) or two (reduce-scatter) in symmetric memory, and the chunks "
            "that are added up",
        .rules = {"ranks are peers of one node with symmetric memory", "rows divide by the ranks"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override {
    return {CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
  }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    require_engines(broken, site);
    require(broken, site.group.nodes == 1,
            fmt::format("symmetric memory joins the GPUs of one node, and these ranks are on {}",
                        site.group.nodes));
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("{} rows do not split into {} equal chunks", view.collective.extent.rows,
                        view.collective.group));
  }

  void emit(const FusedView& view, const Knobs&, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    if (view.gathers) {
      gather(graph);
    } else {
      scatter(graph);
    }
  }

  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return tile_work(view, rows_of_owner(view, 0).rows(), view.work.rank.n, GemmLibrary::cublaslt,
                     0, site) *
           view.collective.group;
  }

  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    const Bytes shard = bytes_of(view.collective.format,
                                 rows_of_owner(view, 0).rows() * view.collective.extent.columns);
    return view.gathers ? shard : shard * (2 + view.collective.group);
  }

 private:
  static sim::StreamId second(GraphWriter& graph, int rank) {
    return graph.program().stream(rank, "async_tp", false);
  }
  // Steps 1, 3, 5, ... go on the second stream.
  static sim::StreamId stream_of(GraphWriter& graph, int rank, int step) {
    return step % 2 == 1 ? second(graph, rank) : graph.compute(rank);
  }

  static void gather(GraphWriter& graph) {
    const RankSignals ready = graph.signals(), done = graph.signals();
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId current = graph.compute(rank);
      graph.join(rank, current, graph.communication(rank));
      graph.copy(rank, current, rank, rank, graph.shard_bytes(rank), 0);
      graph.barrier(rank, current, ready);
      graph.join(rank, second(graph, rank), current);
      graph.product(rank, current, {graph.shard_rows(rank)}, 0);
      for (int step = 1; step < graph.ranks(); ++step) {
        const int owner = graph.peer(rank, step);
        const sim::StreamId stream = stream_of(graph, rank, step);
        graph.copy(rank, stream, owner, rank, graph.shard_bytes(owner), step);
        graph.product(rank, stream, {graph.shard_rows(owner)}, step);
      }
      graph.join(rank, current, second(graph, rank));
      // The shard may be written again once every peer has read it.
      graph.barrier(rank, current, done, graph.ranks() - 1);
    }
  }

  static void scatter(GraphWriter& graph) {
    const int ranks = graph.ranks();
    std::vector<RankSignals> made, taken;
    for (int step = 1; step < ranks; ++step) {
      made.push_back(graph.signals());
      taken.push_back(graph.signals());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const sim::StreamId current = graph.compute(rank);
      graph.join(rank, current, graph.communication(rank));
      graph.join(rank, second(graph, rank), current);
      for (int step = 1; step < ranks; ++step) {
        const auto index = static_cast<std::size_t>(step - 1);
        const sim::StreamId stream = stream_of(graph, rank, step);
        const int owner = graph.peer(rank, step), from = graph.peer(rank, -step);
        // A sleep of 100 cycles, lost beside its launch, keeps the launches of both streams in order.
        if (step == 2) graph.pause(rank, stream, step - 1);
        graph.product(rank, stream, {graph.shard_rows(owner)}, step - 1);
        graph.barrier(rank, stream, made[index], step - 1);
        graph.copy(rank, stream, from, rank, graph.shard_bytes(rank), step - 1);
        graph.barrier(rank, stream, taken[index], step - 1);
      }
      graph.product(rank, current, {graph.shard_rows(rank)}, ranks - 1);
      graph.join(rank, current, second(graph, rank));
      graph.add(rank, current, graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
    }
  }
};

const Registration torch_async_tp(std::make_unique<TorchAsyncTp>());

}  // namespace
}  // namespace weft::model
