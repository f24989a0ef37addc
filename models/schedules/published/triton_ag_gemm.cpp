// SPDX-License-Identifier: Apache-2.0
// Triton-distributed's all-gather + product: copy engines bring one chunk a rank on a producer stream and set its
// flag; the consumer product, launched beside them, waits for each. Its grid is persistent, or a CTA a tile.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
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
            "python/triton_dist/kernels/nvidia/allgather_gemm.py",
        .knobs = {{"persistent",
                   "1: a grid of all SMs; 0: a CTA a tile",
                   {int64_t{1}, int64_t{0}},
                   int64_t{1},
                   "persistent"}},
        .applies_to = "all-gather + product",
        .order = "one chunk a rank, own first, then the next rank's; tiles in that order",
        .edges = "a flag a chunk by stream memory operation; one barrier of all ranks before",
        .resources = "one copy engine; the product on all SMs",
        .buffers = "the gathered matrix in symmetric memory, a flag a rank",
        .rules = {"ranks of one node", "rows divide by the ranks"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    require(broken, site.group.nodes == 1,
            fmt::format("its copies reach the GPUs of one node, and these are on {}",
                        site.group.nodes));
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("{} rows do not divide by {} ranks", view.collective.extent.rows,
                        view.collective.group));
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    std::vector<RankSignals> flags;  // [step][rank]
    for (int step = 0; step < graph.ranks(); ++step) flags.push_back(graph.signals());
    const RankSignals ready = graph.signals();
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId main = graph.compute(rank), copies = graph.communication(rank);
      graph.copy(rank, copies, rank, rank, graph.shard_bytes(rank), 0);
      graph.barrier(rank, copies, ready);
      std::vector<ProductPart> parts;
      for (int step = 0; step < graph.ranks(); ++step) {
        const int owner = graph.peer(rank, step);
        const sim::SignalId flag =
            flags[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)];
        if (step > 0) {
          graph.copy(rank, copies, owner, rank, graph.shard_bytes(owner), step);
          graph.post(rank, copies, flag, step);
        }
        ProductPart part;
        part.rows = graph.shard_rows(owner);
        if (step > 0) part.waits = {{flag, 1, 0}};
        parts.push_back(part);
      }
      ProductShape shape;
      shape.persistent = knobs.count("persistent") == 1;
      const GemmCost cost = flagged_cost(view, program.site(), 0, rank);
      const sim::KernelWriter kernel = write_flagged(
          graph, rank, label, shape, cost, tiles_of_rows(cost, view.work.rank.n, parts, true));
      program.tag(rank, 0, sim::Purpose::compute);
      program.host(rank).labelled(label).launch(main, kernel.id());
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return bytes_of(view.collective.format,
                    view.collective.extent.rows * view.collective.extent.columns);
  }
};

const Registration triton_ag_gemm(std::make_unique<TritonAgGemm>());

}  // namespace
}  // namespace weft::model
