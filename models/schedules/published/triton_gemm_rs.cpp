// SPDX-License-Identifier: Apache-2.0
// Triton-distributed's product + reduce-scatter. In one node the product takes all SMs; a stream waits for the flag of
// each rank's block and copies it to its owner by copy engine, one after the other, the own one last; a barrier, and a
// kernel on all SMs adds what has come. With fuse_scatter the product's epilogue has stored its tiles there already.
//
// Over several nodes the blocks of one node after the other, the next one first: copied to the owner's counterpart in
// the own node, added up there by num_reduction_sms CTAs that the product leaves free, put at the owner by one more, and
// added up again. Nodes follow each other through these steps; the last one's sums are made on all SMs.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/node_grid.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TritonGemmRs final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "triton_distributed.gemm_rs",
        .system = "Triton-distributed",
        .summary =
            "a product whose blocks a copy engine scatters as they are made, and a kernel adds",
        .citation =
            "ByteDance-Seed/Triton-distributed at 1512a81: "
            "python/triton_dist/kernels/nvidia/gemm_reduce_scatter.py, reduce_scatter.py",
        .knobs = {{"num_reduction_sms",
                   "between nodes: SMs that add up, and that the product leaves free with one more",
                   {int64_t{15}, int64_t{16}, int64_t{20}},
                   int64_t{15},
                   "num_reduction_sms"},
                  {"fuse_scatter",
                   "1: the product's epilogue stores tiles at their owners",
                   {int64_t{0}, int64_t{1}},
                   int64_t{0},
                   "fuse_scatter"}},
        .applies_to = "product + reduce-scatter",
        .order = "a block for each rank, the next node's and rank's first, its own last",
        .edges = "a flag a block by stream memory operation; barriers of all ranks before sums",
        .resources =
            "one copy engine; in one node the product on all SMs, between nodes a NIC and "
            "num_reduction_sms + 1 SMs",
        .buffers = "a slot for every rank in symmetric memory, and the product's output",
        .rules = {"rows divide by the ranks", "nodes of the same number of ranks",
                  "fuse_scatter: one node, and rows of a rank divide by BLOCK_M"}};
    return info;
  }

  Knobs normalised(const Boundary&, const Knobs& knobs, const Site& site) const override {
    Knobs result = knobs;
    if (site.group.nodes == 1) result.set("num_reduction_sms", info().knobs.front().default_value);
    return result;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }
  std::int64_t sms_left_free(const Knobs& knobs, const Site& site) const override {
    return margin(knobs, site);
  }
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    if (knobs.count("fuse_scatter") == 0) require_engines(broken, site);
    require_grid(site, broken);
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("{} rows do not divide by {} ranks", view.collective.extent.rows,
                        view.collective.group));
    if (knobs.count("fuse_scatter") == 0) return;
    require(broken, site.group.nodes == 1, "fuse_scatter does not support multi node");
    const std::int64_t tile = flagged_cost(view, site).kernel.tile_m;
    require(broken, rows_of_owner(view, 0).rows() % tile == 0,
            fmt::format(
                "fuse_scatter stores whole tiles at their owners: {} rows a rank do not divide by "
                "BLOCK_M = {}",
                rows_of_owner(view, 0).rows(), tile));
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
    const bool fused = knobs.count("fuse_scatter") == 1;
    Flags flags;
    for (int i = 0; i < graph.ranks(); ++i) flags.made.push_back(graph.signals());
    for (int i = 0; i < grid.nodes(); ++i) flags.scattered.push_back(graph.signals());
    flags.landed = graph.signals();
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const ProductShape shape{margin(knobs, program.site())};
      std::vector<ProductPart> parts;
      for (int step = 0; step < graph.ranks(); ++step) {
        const int owner = owner_at(grid, rank, step);
        ProductPart part{graph.shard_rows(owner)};
        if (!fused) part.posts = {add_one(flags.made[index(step)][index(rank)])};
        parts.push_back(part);
      }
      if (fused) {
        store_at_owners(graph, grid, rank, label, std::move(parts));
        graph.barrier(rank, graph.compute(rank), flags.scattered.front());
        graph.add(rank, graph.compute(rank), graph.shard_bytes(rank) * (graph.ranks() + 1), 0);
        continue;
      }
      launch_rows(graph, rank, label, shape, parts, false);
      scatter(graph, grid, rank, static_cast<int>(knobs.count("num_reduction_sms")), flags);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs& knobs,
                         const Site& site) const override {
    return flagged_work(view, site, margin(knobs, site));
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return output_bytes(view) * 2;
  }

 private:
  struct Flags {
    std::vector<RankSignals> made;       // [step][rank]: the block is computed
    std::vector<RankSignals> scattered;  // [node in turn][rank]: the barrier behind its copies
    RankSignals landed;                  // [rank]: sums of other nodes that have come
  };
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }

  // SMs for sums and one for puts; in one node nothing runs beside the product.
  static int margin(const Knobs& knobs, const Site& site) {
    return site.group.nodes == 1 ? 0 : static_cast<int>(knobs.count("num_reduction_sms")) + 1;
  }

  // Nodes in turn, the own one last; in each the places in turn, the own one last.
  static int owner_at(const NodeGrid& grid, int rank, int step) {
    return grid.beside(rank, step / grid.places() + 1, step % grid.places() + 1);
  }

  static void scatter(GraphWriter& graph, const NodeGrid& grid, int rank, int sms,
                      const Flags& flags) {
    const sim::StreamId copies = graph.communication(rank);
    const int places = grid.places(), nodes = grid.nodes();
    const sim::StreamId sums =
        nodes == 1 ? copies : graph.program().stream(rank, "reduction", true);
    for (int turn = 0; turn < nodes; ++turn) {
      for (int place = 0; place < places; ++place) {
        const int step = turn * places + place;
        graph.wait(rank, copies, flags.made[index(step)][index(rank)], 1, step);
        graph.copy(rank, copies, rank, grid.beside(rank, 0, place + 1),
                   graph.shard_bytes(owner_at(grid, rank, step)), step);
      }
      graph.barrier(rank, copies, flags.scattered[index(turn)], turn);
      graph.join(rank, sums, copies, turn);
      const int to = grid.beside(rank, turn + 1, 0);
      const Bytes block = graph.shard_bytes(to) * (places + 1);
      if (turn + 1 == nodes) {
        graph.add(rank, sums, block, turn);
        continue;
      }
      CommunicationKernel kernel = graph.copies(rank, sms);
      kernel.sum(block);
      graph.launch(rank, sums, kernel, turn);
      send_by_nic(graph, grid, rank, sums, to, graph.shard_bytes(to), flags.landed[index(to)],
                  turn);
    }
    if (nodes > 1) {
      graph.wait(rank, sums, flags.landed[index(rank)], static_cast<std::uint64_t>(nodes - 1));
      graph.add(rank, sums, graph.shard_bytes(rank) * (nodes + 1), nodes);
    }
    graph.join(rank, copies, sums, nodes);
  }

  // The tiles of a block store at the block's owner.
  static void store_at_owners(GraphWriter& graph, const NodeGrid& grid, int rank,
                              std::string_view label, std::vector<ProductPart> parts) {
    const GemmCost cost = flagged_cost(graph.view(), graph.program().site(), 0, rank);
    const auto blocks = tiles_of_rows(cost, graph.view().work.rank.n, std::move(parts), false);
    std::vector<ProductPart> stored;
    for (int step = 0; step < graph.ranks() && index(step) < blocks.size(); ++step) {
      const int owner = owner_at(grid, rank, step);
      const ProductPart& block = blocks[index(step)];
      if (owner == rank) {
        stored.push_back(block);
        continue;
      }
      const auto own =
          carrying(block, graph.route(rank, owner), graph.shard_bytes(owner), &ProductPart::stores);
      stored.insert(stored.end(), own.begin(), own.end());
    }
    launch_product(graph, rank, label, write_flagged(graph, rank, label, {}, cost, stored).id());
  }
};

const Registration triton_gemm_rs(std::make_unique<TritonGemmRs>());

}  // namespace
}  // namespace weft::model
