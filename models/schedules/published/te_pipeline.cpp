// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's pipeline: the default of proj and fc2 forward. The product is split along its output
// features, all tokens in each part; a part's reduce-scatter is a kernel on the communication stream, by the switch
// where it reduces. The last part has no product beside it and takes 32 SMs (UB_MAX_SM).
//
// Parts of the features are strided in memory; their rows of columns/num_splits are long enough that this costs
// nothing here.
#include <memory>

#include <fmt/format.h>

#include "models/cost/userbuffers.hpp"
#include "models/schedules/published/te_rules.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TePipeline final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "te.pipeline",
        .system = "Transformer Engine",
        .summary = "a product split along its features, each part reduce-scattered under the next",
        .citation = std::string(te_citation),
        .knobs =
            {{"num_splits",
              "parts of the output features",
              {int64_t{2}, int64_t{4}, int64_t{8}},
              int64_t{4},
              "num_splits"},
             te_num_sm("CTAs of the reduce-scatter of every part but the last",
                       {int64_t{4}, int64_t{16}, int64_t{32}}),
             te_cga_size(),
             {"set_sm_margin",
              "1: products leave num_sm SMs free",
              {int64_t{1}, int64_t{0}},
              int64_t{1},
              "set_sm_margin"},
             {"pipeline_rs_overlap_first_gemm",
              "1: a part is sent one product later, so that the first finds none to share with",
              {int64_t{0}, int64_t{1}},
              int64_t{0},
              "pipeline_rs_overlap_first_gemm"}},
        .applies_to = "product + reduce-scatter",
        .order = "num_splits parts of the output features, all tokens in each",
        .edges = "stream events: a part's reduce-scatter waits for its product",
        .resources =
            "num_sm CTAs a reduce-scatter, 32 for the last, through the switch where it "
            "reduces; products on the other SMs if set_sm_margin",
        .buffers = "the product's whole output in symmetric memory",
        .rules = {"sequence parallelism", "not for all-gather",
                  "tensor parallelism inside the NVLink domain", "tokens divide by tp",
                  "features divide by num_splits"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }
  std::int64_t sms_left_free(const Knobs& knobs, const Site&) const override {
    return margin(knobs);
  }

  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    te_rules(view, site, broken);
    te_ctas(knobs, site, true, broken);
    require(
        broken, view.work.rank.n % knobs.count("num_splits") == 0,
        fmt::format("pipeline cuts {} output features into {} equal parts, and they do not divide",
                    view.work.rank.n, knobs.count("num_splits")));
  }

  std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                              const Site& site) const override {
    std::vector<Transfer> all;
    const auto splits = static_cast<int>(knobs.count("num_splits"));
    for (int part = 0; part < splits; ++part) {
      const auto own = part_transfers(view, site, cost_of(view, knobs, part, site).algorithm,
                                      features(view, splits, part), part);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const auto splits = static_cast<int>(knobs.count("num_splits"));
    const int delay = knobs.count("pipeline_rs_overlap_first_gemm") == 1 ? 1 : 0;
    for (int rank = 0; rank < graph.ranks(); ++rank) te_fork(graph, rank);
    for (int step = 0; step < splits + delay; ++step) {
      if (step < splits) {
        for (int rank = 0; rank < graph.ranks(); ++rank) {
          graph.product(rank, te_compute(graph, rank, step),
                        {view.work.rank.m, features(view, splits, step).rows(), margin(knobs)},
                        step);
        }
      }
      const int part = step - delay;
      if (part >= 0) scatter(graph, knobs, part, splits);
    }
    for (int rank = 0; rank < graph.ranks(); ++rank) te_join(graph, rank);
  }

  Duration compute_bound(const FusedView& view, const Knobs& knobs,
                         const Site& site) const override {
    const std::int64_t splits = knobs.count("num_splits");
    return tile_work(view, view.work.rank.m, view.work.rank.n / splits, GemmLibrary::cublaslt,
                     margin(knobs), site) *
           splits;
  }

  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return output_bytes(view);
  }

 private:
  static RowRange features(const FusedView& view, int splits, int part) {
    return block_of({0, view.collective.extent.columns}, splits, part);
  }
  static int margin(const Knobs& knobs) {
    return knobs.count("set_sm_margin") == 1 ? static_cast<int>(knobs.count("num_sm")) : 0;
  }
  static CollectiveCost cost_of(const FusedView& view, const Knobs& knobs, int part,
                                const Site& site) {
    const bool last = part + 1 == knobs.count("num_splits");
    const CollectiveProblem problem = problem_of(view.collective, site);
    const std::int64_t ctas = last ? ub_most_sms : knobs.count("num_sm");
    const Transport by = site.fabric.switch_reduces ? Transport::fabric_switch : Transport::sm;
    return *site.prices->direct(problem, by, ctas);
  }

  static void scatter(GraphWriter& graph, const Knobs& knobs, int part, int splits) {
    LayerProgram& program = graph.program();
    const FusedView& view = graph.view();
    std::vector<sim::StreamId> streams;
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      streams.push_back(graph.communication(rank));
      graph.join(rank, streams.back(), te_compute(graph, rank, part), part);
      program.tag(rank, part, sim::Purpose::communication);
    }
    const Bytes message = bytes_of(
        view.collective.format, view.collective.extent.rows * features(view, splits, part).rows());
    const CollectiveCost cost = cost_of(view, knobs, part, program.site());
    program.collective(cost, message, view.collective.name, streams, {},
                       te_cluster(knobs, program.site(), cost.ctas));
  }
};

const Registration te_pipeline(std::make_unique<TePipeline>());

}  // namespace
}  // namespace weft::model
