// SPDX-License-Identifier: Apache-2.0
// Triton-distributed's product + reduce-scatter: the product leaves num_rs_sms SMs to a second stream. There a kernel
// scatters each rank's block to its owner as the block's flag comes (or, with fuse_scatter, the product's epilogue has
// stored its tiles there already), and a reduction of those SMs adds what has arrived.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
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
        .summary = "a product on the SMs that a scattering and reducing stream leaves it",
        .citation =
            "ByteDance-Seed/Triton-distributed at 1512a81: "
            "python/triton_dist/kernels/nvidia/gemm_reduce_scatter.py, reduce_scatter.py",
        .knobs = {{"num_rs_sms",
                   "SMs of the second stream",
                   {int64_t{15}, int64_t{16}, int64_t{20}},
                   int64_t{15},
                   "num_reduction_sms"},
                  {"fuse_scatter",
                   "1: the product's epilogue stores tiles at their owners",
                   {int64_t{0}, int64_t{1}},
                   int64_t{0},
                   "fuse_scatter"}},
        .applies_to = "product + reduce-scatter",
        .order = "a block for each rank, the next rank's first, its own last",
        .edges = "a flag a block; the reduction waits for all ranks' blocks",
        .resources = "num_rs_sms SMs for scattering and reducing, the others for the product",
        .buffers = "a slot for every rank in symmetric memory, and the product's output",
        .rules = {"ranks of one node", "rows divide by the ranks",
                  "fuse_scatter: rows of a rank divide by BLOCK_M"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    require(broken, site.group.nodes == 1,
            fmt::format("its stores reach the GPUs of one node, and these are on {}",
                        site.group.nodes));
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("{} rows do not divide by {} ranks", view.collective.extent.rows,
                        view.collective.group));
    const std::int64_t tile =
        flagged_cost(view, site, static_cast<int>(knobs.count("num_rs_sms"))).kernel.tile_m;
    require(broken, knobs.count("fuse_scatter") == 0 || rows_of_owner(view, 0).rows() % tile == 0,
            fmt::format(
                "fuse_scatter stores whole tiles at their owners: {} rows a rank do not divide by "
                "BLOCK_M = {}",
                rows_of_owner(view, 0).rows(), tile));
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks(), sms = static_cast<int>(knobs.count("num_rs_sms"));
    const bool fused = knobs.count("fuse_scatter") == 1;
    std::vector<RankSignals> made;  // [step][rank]
    for (int step = 0; step < ranks; ++step) made.push_back(graph.signals());
    const RankSignals arrived = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const sim::StreamId side = graph.communication(rank);
      const ProductShape shape{sms};
      const GemmCost cost = flagged_cost(view, program.site(), sms, rank);
      std::vector<ProductPart> parts;
      for (int step = 0; step < ranks; ++step) {
        ProductPart part;
        part.rows = graph.shard_rows(graph.peer(rank, step + 1));
        if (!fused) part.posts = {add_one(made[static_cast<std::size_t>(step)][at])};
        parts.push_back(part);
      }
      parts = tiles_of_rows(cost, view.work.rank.n, parts, false);
      if (fused) store_at_owners(graph, rank, arrived, parts);
      const sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      program.tag(rank, 0, sim::Purpose::compute);
      program.host(rank).labelled(label).launch(graph.compute(rank), kernel.id());

      CommunicationKernel reduce = graph.copies(rank, sms);
      if (!fused) {
        for (int step = 0; step + 1 < ranks; ++step) {
          const int owner = graph.peer(rank, step + 1);
          if (graph.shard_rows(owner) == 0) continue;
          reduce.after(made[static_cast<std::size_t>(step)][at], 1)
              .then(add_one(arrived[static_cast<std::size_t>(owner)]));
          reduce.move(graph.route(rank, owner), graph.shard_bytes(owner), true);
        }
        reduce.after(made[static_cast<std::size_t>(ranks - 1)][at], 1);
      }
      reduce.after(arrived[at], static_cast<std::uint64_t>(ranks - 1));
      reduce.local(graph.shard_bytes(rank) * (ranks + 1));
      graph.launch(rank, side, reduce, 0);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs& knobs,
                         const Site& site) const override {
    return flagged_work(view, site, static_cast<int>(knobs.count("num_rs_sms")));
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return bytes_of(view.work.y, view.work.rank.m * view.work.rank.n) * 2;
  }

 private:
  // The tiles of a block store at the block's owner; its last one tells it so.
  static void store_at_owners(GraphWriter& graph, int rank, const RankSignals& arrived,
                              std::vector<ProductPart>& parts) {
    for (int step = 0; step + 1 < graph.ranks() && static_cast<std::size_t>(step) < parts.size();
         ++step) {
      ProductPart& part = parts[static_cast<std::size_t>(step)];
      const int owner = graph.peer(rank, step + 1);
      part.stores = {{graph.route(rank, owner), tile_bytes(graph.view(), part.rows, part.tiles)}};
      part.posts = {add_one(arrived[static_cast<std::size_t>(owner)])};
    }
  }
};

const Registration triton_gemm_rs(std::make_unique<TritonGemmRs>());

}  // namespace
}  // namespace weft::model
