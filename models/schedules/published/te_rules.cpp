// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/te_rules.hpp"

#include <utility>

#include <fmt/format.h>

#include "models/cost/userbuffers.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

constexpr int compute_streams = 3;  // _NUM_MAX_UB_STREAMS
// cuBLASLt's FP8 products: pieces of 16 bytes (cuBLAS documentation, "Tensor Core Usage" of cublasLtMatmul)
constexpr std::int64_t fp8_alignment = 16;

constexpr std::int64_t usual_sms = 16, usual_cga = 2;

}  // namespace

void te_rules(const FusedView& view, const Site& site, Rules& broken) {
  require(
      broken, nvlink_domain(site),
      fmt::format("userbuffers are peers of one NVLink domain: tensor parallelism must lie inside "
                  "it, and these {} ranks are on {} nodes, {} apart",
                  site.group.ranks, site.group.nodes, site.fabric.gpu_per_direction));
  require(
      broken, view.collective.extent.rows % view.collective.group == 0,
      fmt::format("sequence parallelism cuts {} tokens into {} equal parts, and they do not divide",
                  view.collective.extent.rows, view.collective.group));
  const MatmulShape& rank = view.work.rank;
  const DType type = view.work.x.element;
  require(broken,
          (type != DType::fp8_e4m3 && type != DType::fp8_e5m2) ||
              (rank.k % fp8_alignment == 0 && rank.n % fp8_alignment == 0),
          fmt::format("FP8 products need K and N that divide by {}, and they are {} and {}",
                      fp8_alignment, rank.k, rank.n));
}

sim::StreamId te_compute(GraphWriter& graph, int rank, int index) {
  const int stream = index % compute_streams;
  return stream == 0 ? graph.compute(rank)
                     : graph.program().stream(rank, fmt::format("compute.{}", stream), false);
}

void te_fork(GraphWriter& graph, int rank) {
  for (int i = 1; i < compute_streams; ++i)
    graph.join(rank, te_compute(graph, rank, i), graph.compute(rank));
}

void te_join(GraphWriter& graph, int rank) {
  for (int i = 1; i < compute_streams; ++i)
    graph.join(rank, graph.compute(rank), te_compute(graph, rank, i));
}

KnobSpec te_num_sm(std::string meaning, std::vector<KnobValue> counts) {
  return {"num_sm",  std::move(meaning), std::move(counts),
          usual_sms, "num_sm",           "any other count from 1 to 32"};
}

// Searched at its default alone: what clusters change is where few CTAs fit.
KnobSpec te_cga_size() {
  return {
      "cga_size",  "CTAs of the collective that must start together in one GPC",
      {usual_cga}, usual_cga,
      "cga_size",  "any other count from 1 to 8; what does not divide the grid starts no clusters"};
}

void te_ctas(const Knobs& knobs, const Site& site, bool pipeline, Rules& broken) {
  for (std::string& fault : ub_grid_faults(knobs.count("num_sm"), knobs.count("cga_size"), pipeline,
                                           architecture_number(site)))
    broken.push_back(std::move(fault));
}

int te_cluster(const Knobs& knobs, const Site& site, std::int64_t ctas) {
  return ub_cluster(ctas, knobs.count("cga_size"), architecture_number(site));
}

}  // namespace weft::model
