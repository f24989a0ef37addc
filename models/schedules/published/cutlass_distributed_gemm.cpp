// SPDX-License-Identifier: Apache-2.0
// CUTLASS's distributed GEMM, one CUDA graph: a barrier of all ranks, then as many stages of the product as there are
// ranks, each launched programmatically on the one before.
//
// Gather:    a branch of the graph copies the peers' shards one after the other and sets a flag for each; a stage
//            waits for the flag of its shard.
// Reduction: no copies. A stage reads the sum that the rank before made in its last stage as its C operand, over the
//            link, adds its own, and flags the rank after: a ring inside the products.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/demands.hpp"
#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class CutlassDistributedGemm final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "cutlass.distributed_gemm",
        .system = "CUTLASS",
        .summary =
            "a stage of the product for each rank, launched programmatically, over copies or a "
            "ring",
        .citation =
            "NVIDIA/cutlass: include/cutlass/experimental/distributed/device/"
            "dist_gemm_universal_wrapper.hpp, examples/65_distributed_gemm",
        .knobs = {},
        .applies_to = "all-gather + product; product + reduce-scatter",
        .order =
            "one stage a rank: AllGather1D_TilingCD_RotatingA starts with its own shard, "
            "ReduceScatter1D_TilingA_RotatingC ends with its own",
        .edges = "programmatic launches between stages; a flag a shard that a stage waits for",
        .resources = "one copy engine (all-gather); products on all SMs",
        .buffers = "a shard of every peer (all-gather) or a sum of each stage (reduce-scatter)",
        .rules = {"Hopper or later", "every pair of ranks joined by NVLink",
                  "M divides by the ranks", "K and N in pieces of 16 bytes"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override {
    return {CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
  }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    if (view.gathers) require_engines(broken, site);
    require(broken, architecture_number(site) >= 90,
            fmt::format("programmatic launches between stages need Hopper or later, and this is {}",
                        site.profile.gpu.architecture));
    require(broken, nvlink_domain(site),
            "it needs any-to-any NVLink between the ranks of one node");
    require_alignment(broken, view, "TMA");
    require(broken, view.collective.extent.rows % view.collective.group == 0,
            fmt::format("a stage is M / TP rows, and {} rows do not divide by {}",
                        view.collective.extent.rows, view.collective.group));
  }
  std::vector<Transfer> moves(const FusedView& view, const Knobs&,
                              const Site& site) const override {
    if (view.gathers) return owner_transfers(view);
    return library_transfers(view.collective, site, CollectiveAlgorithm::ring);
  }
  void emit(const FusedView& view, const Knobs&, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks();
    std::vector<RankSignals> flags;  // [stage][rank]
    for (int stage = 0; stage < ranks; ++stage) flags.push_back(graph.signals());
    const RankSignals ready = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const sim::StreamId main = graph.compute(rank), branch = graph.communication(rank);
      graph.join(rank, main, branch);
      graph.barrier(rank, main, ready);
      if (view.gathers) graph.join(rank, branch, main);
      for (int stage = 0; stage < ranks; ++stage) {
        const auto index = static_cast<std::size_t>(stage);
        const int owner = graph.peer(rank, view.gathers ? stage : -1 - stage);
        if (view.gathers && stage > 0) {
          graph.copy(rank, branch, owner, rank, graph.shard_bytes(owner), stage);
          graph.post(rank, branch, flags[index][at], stage);
        }
        run_stage(graph, rank, stage, owner, flags, label);
      }
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    const GemmCost cost = stage_cost(view, site, 0);
    const std::int64_t at_once = std::max<std::int64_t>({1, cost.resident, site.sms(0).sms()});
    return Duration::from_ps(
        narrow(Int128{cost.tile_time().ps()} * cost.tiles * view.collective.group / at_once));
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }

 private:
  static GemmCost stage_cost(const FusedView& view, const Site& site, int rank) {
    return site.prices->gemm(
        piece_of(view.work, rows_of_owner(view, rank).rows(), view.work.rank.n, GemmLibrary::ours),
        site.sms(rank));
  }

  static void run_stage(GraphWriter& graph, int rank, int stage, int owner,
                        const std::vector<RankSignals>& flags, std::string_view label) {
    LayerProgram& program = graph.program();
    const FusedView& view = graph.view();
    const GemmCost cost = stage_cost(view, program.site(), owner);
    const auto index = static_cast<std::size_t>(stage), at = static_cast<std::size_t>(rank);
    ProductPart part;
    part.rows = graph.shard_rows(owner);
    part.tiles = cost.tiles;
    if (stage > 0) part.waits = {{flags[index][at], 1, 0}};
    if (!view.gathers && stage + 1 < graph.ranks()) {
      part.posts = {add_one(flags[index + 1][static_cast<std::size_t>(graph.peer(rank, 1))])};
    }
    std::vector<ProductPart> parts = {part};
    if (!view.gathers && stage > 0) {
      // The sum so far, read from the rank before: the C operand of every tile.
      parts = carrying(part, graph.route(graph.peer(rank, -1), rank), graph.shard_bytes(owner),
                       &ProductPart::loads);
    }
    const sim::KernelWriter kernel = write_flagged(graph, rank, label, {}, cost, parts);
    program.tag(rank, stage, sim::Purpose::compute);
    sim::CallWriter& host = program.host(rank).labelled(label);
    if (stage == 0) {
      host.launch(graph.compute(rank), kernel.id());
    } else {
      host.launch_programmatic(graph.compute(rank), kernel.id());
    }
  }
};

const Registration cutlass_distributed_gemm(std::make_unique<CutlassDistributedGemm>());

}  // namespace
}  // namespace weft::model
