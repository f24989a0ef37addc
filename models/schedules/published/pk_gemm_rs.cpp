// SPDX-License-Identifier: Apache-2.0
// ParallelKittens' product + reduce-scatter: no CTA communicates. The epilogue adds each tile, in bf16, straight into
// its owner's output by a bulk reduce over the link; rank r starts with the tiles of rank r+1 and ends with its own.
// A kernel of one thread then waits for all ranks.
#include <memory>

#include "models/schedules/published/pk_rules.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class PkGemmRs final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "parallelkittens.gemm_rs",
        .system = "ParallelKittens",
        .summary = "a product whose epilogue adds each tile into its owner's output over the link",
        .citation = std::string(pk_citation),
        .knobs = {},
        .applies_to = "product + reduce-scatter on 8 Hopper GPUs",
        .order = "tiles of rank r+1 first, the rank's own last",
        .edges = "none but a barrier kernel of all ranks at the end",
        .resources = "the product on all SMs; adds of its epilogue over the links",
        .buffers = "none: sums are made in place, rounded to bf16 at every add",
        .rules = {"8 ranks of one NVSwitch node", "Hopper",
                  "M divides by 128 x ranks, N by 256, K by 256"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    pk_rules(view, site, pk_tile_rows * pk_ranks, broken);
  }
  void emit(const FusedView& view, const Knobs&, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const RankSignals ready = graph.signals(), done = graph.signals();
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId main = graph.compute(rank);
      graph.join(rank, main, graph.communication(rank));
      // Outputs are cleared before anyone adds to them.
      graph.barrier(rank, main, ready);
      const GemmCost cost = pk_cost(view, program.site(), 0, rank);
      std::vector<ProductPart> parts;
      for (int step = 1; step <= graph.ranks(); ++step)
        parts.push_back({graph.shard_rows(graph.peer(rank, step))});
      parts = tiles_of_rows(cost, view.work.rank.n, parts, false);
      for (int step = 1; step < graph.ranks(); ++step) {
        ProductPart& part = parts[static_cast<std::size_t>(step - 1)];
        part.stores = {
            {graph.route(rank, graph.peer(rank, step)), tile_bytes(view, part.rows, part.tiles)}};
      }
      const sim::KernelWriter kernel = write_flagged(graph, rank, label, {}, cost, parts);
      launch_product(graph, rank, label, kernel.id());
      graph.barrier(rank, main, done, graph.ranks() - 1);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return pk_work(view, site);
  }
};

const Registration pk_gemm_rs(std::make_unique<PkGemmRs>());

}  // namespace
}  // namespace weft::model
