// SPDX-License-Identifier: Apache-2.0
// Triton-distributed's all-gather + product: copy engines bring one chunk a rank on a producer stream and set its
// flag; the consumer product, launched beside them, waits for each. Its grid is persistent, or a CTA a tile.
//
// Over several nodes each rank puts its own chunk at its counterparts by NIC, and whoever got one so hands it on to the
// peers of its node by copy engine; a rank computes its own node's chunks first, then those of the others node by node.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/node_grid.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TritonAgGemm final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "triton_distributed.ag_gemm",
        .system = "Triton-distributed",
        .summary = "a consumer product that waits for the flags of chunks which copy engines bring",
        .citation =
            "ByteDance-Seed/Triton-distributed at 1512a81: "
            "python/triton_dist/kernels/nvidia/allgather_gemm.py, allgather.py",
        .knobs = {{"persistent",
                   "1: a grid of all SMs; 0: a CTA a tile",
                   {int64_t{1}, int64_t{0}},
                   int64_t{1},
                   "persistent"}},
        .applies_to = "all-gather + product",
        .order =
            "one chunk a rank, own first, then the next rank's; tiles in that order; other nodes "
            "after the own one",
        .edges =
            "a flag a chunk by stream memory operation, or posted by a NIC; one barrier of all "
            "ranks before",
        .resources = "one copy engine, and a NIC between nodes; the product on all SMs",
        .buffers = "the gathered matrix in symmetric memory, a flag a rank",
        .rules = {"rows divide by the ranks", "nodes of the same number of ranks"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    require_engines(broken, site);
    require_grid(site, broken);
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("{} rows do not divide by {} ranks", view.collective.extent.rows,
                        view.collective.group));
  }
  std::vector<Transfer> moves(const FusedView& view, const Knobs&,
                              const Site& site) const override {
    if (site.group.nodes == 1) return owner_transfers(view);
    return grid_transfers(view.collective, NodeGrid(site));
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const NodeGrid grid(program.site());
    std::vector<RankSignals> flags;  // [nodes on * places + places on][rank]
    for (int i = 0; i < graph.ranks(); ++i) flags.push_back(graph.signals());
    const RankSignals ready = graph.signals();
    const auto flag = [&](int nodes_on, int places_on, int rank) {
      const int index = nodes_on * grid.places() + places_on;
      return flags[static_cast<std::size_t>(index)][static_cast<std::size_t>(rank)];
    };
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId copies = graph.communication(rank);
      graph.copy(rank, copies, rank, rank, graph.shard_bytes(rank), 0);
      graph.barrier(rank, copies, ready);
      if (grid.nodes() > 1) put_own(graph, grid, rank, flag);
      std::vector<ProductPart> parts;
      const auto part = [&](int owner, std::optional<sim::SignalId> arrived) {
        ProductPart& added = parts.emplace_back();
        added.rows = graph.shard_rows(owner);
        if (arrived) added.waits = {{*arrived, 1, 0}};
      };
      part(rank, std::nullopt);
      for (int step = 1; step < grid.places(); ++step) {
        const int owner = grid.beside(rank, 0, step);
        graph.copy(rank, copies, owner, rank, graph.shard_bytes(owner), step);
        graph.post(rank, copies, flag(0, step, rank), step);
        part(owner, flag(0, step, rank));
      }
      for (int back = 1; back < grid.nodes(); ++back) {
        hand_on(graph, grid, rank, back, flag);
        for (int step = 0; step < grid.places(); ++step)
          part(grid.beside(rank, -back, -step), flag(back, step, rank));
      }
      ProductShape shape;
      shape.persistent = knobs.count("persistent") == 1;
      launch_rows(graph, rank, label, shape, parts, true);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }

 private:
  // A rank's own chunk to its counterparts, behind the barrier.
  template <class Flag>
  static void put_own(GraphWriter& graph, const NodeGrid& grid, int rank, const Flag& flag) {
    const sim::StreamId puts = graph.program().stream(rank, "puts", true);
    graph.join(rank, puts, graph.communication(rank));
    for (int on = 1; on < grid.nodes(); ++on) {
      const int to = grid.beside(rank, on, 0);
      send_by_nic(graph, grid, rank, puts, to, graph.shard_bytes(rank), flag(on, 0, to), on);
    }
  }
  // What came by NIC from `back` nodes before goes on to the peers of the node.
  template <class Flag>
  static void hand_on(GraphWriter& graph, const NodeGrid& grid, int rank, int back,
                      const Flag& flag) {
    const sim::StreamId copies = graph.communication(rank);
    const int owner = grid.beside(rank, -back, 0);
    graph.wait(rank, copies, flag(back, 0, rank), 1, back);
    for (int step = 1; step < grid.places(); ++step) {
      const int to = grid.beside(rank, 0, step);
      graph.copy(rank, copies, rank, to, graph.shard_bytes(owner), back);
      graph.post(rank, copies, flag(back, step, to), back);
    }
  }
};

const Registration triton_ag_gemm(std::make_unique<TritonAgGemm>());

}  // namespace
}  // namespace weft::model
