// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's atomic GEMM: one product for the whole boundary with a counter for each chunk, which it waits
// for or bumps, and kernels that spin on them. cuBLAS has it for FP8 only; what it costs is assumed to be what a
// product with flags costs.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/published/te_rules.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TeAtomic final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "te.atomic_gemm",
        .system = "Transformer Engine",
        .summary = "one FP8 product with a counter for each rank's chunk (cost assumed)",
        .citation = std::string(te_citation),
        .knobs = {{"num_sm",
                   "CTAs of a chunk's reduce-scatter",
                   {int64_t{4}, int64_t{16}},
                   int64_t{16},
                   "num_sm"}},
        .applies_to = "all-gather + product; product + reduce-scatter, in FP8",
        .order = "tp chunks of tokens/tp, own first (all-gather) or last (reduce-scatter)",
        .edges = "a counter a chunk between the product and one-warp kernels that spin",
        .resources =
            "copy engines (all-gather) or num_sm CTAs (reduce-scatter), which the product "
            "leaves free",
        .buffers = "tp chunks in symmetric memory and a counter for each",
        .rules = {"FP8 only (a beta of cuBLAS)",
                  "not for bulk or external; all-gather and "
                  "reduce-scatter of a layer must both use it",
                  "sequence parallelism", "tensor parallelism inside the NVLink domain"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override {
    return {CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
  }
  std::int64_t sms_left_free(const Knobs& knobs, const Site&) const override {
    return knobs.count("num_sm");
  }
  void rules(const FusedView& view, const Knobs&, const Site& site, Rules& broken) const override {
    if (view.gathers) require_engines(broken, site);
    te_rules(view, site, broken);
    const DType type = view.work.x.element;
    require(broken, type == DType::fp8_e4m3 || type == DType::fp8_e5m2,
            fmt::format("an atomic GEMM is for FP8 only, and this product's inputs are {}",
                        name_of(type)));
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks(), ctas = static_cast<int>(knobs.count("num_sm"));
    std::vector<RankSignals> counters;  // [step][rank]
    for (int step = 0; step < ranks; ++step) counters.push_back(graph.signals());
    const auto counter = [&](int step, int rank) {
      return counters[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)];
    };
    const RankSignals arrived = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const sim::StreamId main = graph.compute(rank), side = graph.communication(rank);
      std::vector<ProductPart> parts;
      for (int step = 0; step < ranks; ++step) {
        const int owner = view.gathers ? graph.peer(rank, -step) : graph.peer(rank, step + 1);
        ProductPart part;
        part.rows = graph.shard_rows(owner);
        if (view.gathers && step > 0) {
          part.waits = {{counter(step, rank), 1, 0}};
          if (step > 1)
            graph.wait_kernel(rank, side, counter(step - 1, graph.peer(rank, -1)), 1, step);
          graph.copy(rank, side, graph.peer(rank, -1), rank,
                     part.rows == 0 ? Bytes() : graph.shard_bytes(owner), step);
          graph.post_kernel(rank, side, counter(step, rank), step);
        } else if (!view.gathers) {
          part.posts = {add_one(counter(step, rank))};
        }
        parts.push_back(part);
      }
      ProductShape shape;
      shape.margin = view.gathers ? 0 : ctas;
      launch_rows(graph, rank, label, shape, parts, view.gathers);
      if (view.gathers) continue;
      for (int step = 0; step + 1 < ranks; ++step) {
        const int owner = graph.peer(rank, step + 1);
        graph.wait_kernel(rank, side, counter(step, rank), 1, step);
        CommunicationKernel push = graph.copies(rank, ctas);
        push.then(add_one(arrived[static_cast<std::size_t>(owner)]));
        push.move(graph.route(rank, owner), graph.shard_bytes(owner), true);
        graph.launch(rank, side, push, step);
      }
      graph.wait(rank, side, arrived[static_cast<std::size_t>(rank)],
                 static_cast<std::uint64_t>(ranks - 1), ranks - 1);
      graph.join(rank, main, side, ranks - 1);
      graph.add(rank, main, graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }
};

const Registration te_atomic(std::make_unique<TeAtomic>());

}  // namespace
}  // namespace weft::model
