// SPDX-License-Identifier: Apache-2.0
#include "models/export/inference_export.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/import/hf_config.hpp"
#include "models/planner/evaluate.hpp"
#include "models/schedules/flagged_product.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/run.hpp"
#include "sim/units/check.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

constexpr std::string_view kFlux = "flux.";
constexpr std::string_view kAsyncTp = "torch.async_tp";
constexpr std::string_view kHopper = "sm_90";

std::string_view flux_type(DType type) {
  switch (type) {
    case DType::bf16:
      return "BF16";
    case DType::fp16:
      return "FP16";
    case DType::fp8_e4m3:
      return "E4M3";
    case DType::fp8_e5m2:
      return "E5M2";
    default:
      return {};
  }
}

FluxEntry entry_of(const BoundaryPlan& planned, const Site& site) {
  const FusedView view(planned.boundary, *fused_pair(planned.boundary));
  const GemmTile kernel = flagged_cost(view, site).kernel;
  FluxEntry entry;
  entry.op = view.gathers ? FluxOp::all_gather : FluxOp::reduce_scatter;
  entry.input = flux_type(view.work.x.element);
  entry.output = flux_type(view.work.y.element);
  entry.m = view.work.rank.m;
  entry.n = view.work.rank.n;
  entry.k = view.work.rank.k;
  entry.ranks = view.collective.group;
  entry.nodes = site.group.nodes;
  const Knobs& knobs = planned.figures.knobs;
  if (knobs.has("ring_mode")) {
    const std::string& mode = knobs.text("ring_mode");
    entry.ring_mode = mode == "ring1d" ? 1 : mode == "ring2d" ? 2 : 0;
  }
  if (knobs.has("fuse_reduction")) entry.fuse_reduction = knobs.count("fuse_reduction") == 1;
  if (!nvlink_domain(site)) entry.comm_kind = "IntraNodePcie";
  entry.cluster = {kernel.cluster_m, kernel.cluster_n, 1};
  entry.tile = {kernel.tile_m, kernel.tile_n, kernel.tile_k};
  return entry;
}

/// The tile of our own table that FLUX has and the product takes the least time with; `entry` as it is
/// where there is none.
FluxEntry with_own_tile(const FluxEntry& entry, const BoundaryPlan& planned, const Site& site,
                        std::vector<std::string>& remarks) {
  const FusedView view(planned.boundary, *fused_pair(planned.boundary));
  const GemmProblem problem{
      entry.m, entry.n, entry.k, view.work.x.element, view.work.y.element, GemmLibrary::ours};
  const Duration predicted = flagged_cost(view, site).time;
  FluxEntry best = entry;
  Duration least;
  for (const GemmTile& tile : gemm_tiles(site.profile, GemmLibrary::ours)) {
    FluxEntry other = entry;
    other.cluster = {tile.cluster_m, tile.cluster_n, 1};
    other.tile = {tile.tile_m, tile.tile_n, tile.tile_k};
    if (!faults_of(other).empty()) continue;
    const Duration time = gemm_cost(site.profile, problem, site.sms(0), tile).time;
    if (least == Duration() || time < least) {
      least = time;
      best = other;
    }
  }
  if (least > Duration()) {
    remarks.push_back(fmt::format(
        "{}: predicted with tiles of {} x {}, which FLUX does not have; with {} x {} the product "
        "alone takes {} and not {}",
        planned.figures.boundary, entry.tile[0], entry.tile[1], best.tile[0], best.tile[1], least,
        predicted));
  }
  return best;
}

/// The time of the plan's commonest layer at so many tokens of one sequence.
class TokenWalk {
 public:
  explicit TokenWalk(const Plan& plan)
      : plan_(plan),
        wanted_(std::get<ModelScenario>(plan.scenario.what)),
        site_(*plan.layouts.front().site),
        model_(read_hf_config(std::filesystem::path(wanted_.model)).model) {}

  /// None where the layout does not take so many tokens.
  std::optional<Duration> time(std::int64_t tokens, bool async_tp) {
    ParallelLayout layout = plan_.layouts.front().layout;
    layout.sequence_parallel = async_tp;
    WorkloadSpec work = wanted_.work;
    work.sequences = 1;
    work.new_tokens = tokens;
    if (!layout_problems(model_, layout, work).empty()) return std::nullopt;
    const Workload workload = build_workload(model_, layout, work);
    const Layer& layer =
        *std::max_element(workload.layers.begin(), workload.layers.end(),
                          [](const Layer& a, const Layer& b) { return a.count < b.count; });
    std::vector<ScheduleChoice> choices;
    for (const Boundary* boundary : boundaries_of(layer)) {
      const Schedule* schedule = find_schedule(async_tp ? kAsyncTp : "serial");
      Knobs knobs(schedule->info().knobs);
      if (async_tp && !schedule->refusals(*boundary, knobs, site_).empty()) {
        schedule = find_schedule("serial");
        knobs = Knobs(schedule->info().knobs);
      }
      choices.push_back({schedule, std::move(knobs)});
    }
    sim::RunOptions options;
    options.effects = sim::effects_of(plan_.scenario.fidelity);
    const sim::Program program = layer_program(layer, choices, site_);
    return sim::run(site_.built.machine, program, options).end - TimePoint();
  }

 private:
  const Plan& plan_;
  const ModelScenario& wanted_;
  const Site& site_;
  ModelConfig model_;
};

}  // namespace

std::vector<FluxEntry> flux_entries_of(const Plan& plan, std::vector<std::string>& remarks) {
  const LayoutPlan& layout = plan.layouts.front();
  std::vector<FluxEntry> entries;
  for (const BoundaryPlan& planned : layout.boundaries) {
    const std::string& name = planned.figures.boundary;
    if (!planned.figures.schedule.starts_with(kFlux)) {
      remarks.push_back(
          fmt::format("{}: the pick, {}, is none of FLUX's", name, planned.figures.schedule));
      continue;
    }
    if (!layout.site->profile.gpu.architecture.starts_with(kHopper)) {
      remarks.push_back(fmt::format("{}: entries are written for Hopper, and this is {}", name,
                                    layout.site->profile.gpu.architecture));
      continue;
    }
    FluxEntry entry = entry_of(planned, *layout.site);
    std::vector<std::string> faults = faults_of(entry);
    if (!faults.empty()) {
      entry = with_own_tile(entry, planned, *layout.site, remarks);
      faults = faults_of(entry);
    }
    if (faults.empty()) {
      entries.push_back(entry);
    } else {
      remarks.push_back(fmt::format("{}: FLUX would refuse it: {}", name, faults.front()));
    }
  }
  return entries;
}

std::optional<std::int64_t> async_tp_threshold(const Plan& plan) {
  const auto& wanted = std::get<ModelScenario>(plan.scenario.what);
  TokenWalk walk(plan);
  std::optional<std::int64_t> threshold;
  for (std::int64_t tokens = plan.layouts.front().layout.tp; tokens <= tokens_of(wanted.work);
       tokens *= 2) {
    const auto plain = walk.time(tokens, false), fused = walk.time(tokens, true);
    if (!plain || !fused || *fused >= *plain) {
      threshold.reset();
    } else if (!threshold) {
      threshold = tokens;
    }
  }
  return threshold;
}

VllmOverlap vllm_overlap_of(const Plan& plan, std::vector<std::string>& remarks) {
  WEFT_CHECK(std::holds_alternative<ModelScenario>(plan.scenario.what),
             "vLLM's thresholds are of a model");
  VllmOverlap overlap;
  const ParallelLayout& layout = plan.layouts.front().layout;
  overlap.tensor_parallel_size = layout.tp;
  remarks.emplace_back(
      "fi_allreduce_fusion_max_size_mb is left at its default: FlashInfer's all-reduce with the "
      "norm "
      "after it is not simulated");
  if (trains(std::get<ModelScenario>(plan.scenario.what).work)) {
    remarks.emplace_back("vLLM does not train: the plan is of a training phase");
  }
  const auto threshold = layout.tp > 1 ? async_tp_threshold(plan) : std::nullopt;
  overlap.enable_sp = threshold.has_value();
  overlap.fuse_gemm_comms = threshold.has_value();
  overlap.sp_min_token_num = threshold;
  return overlap;
}

}  // namespace weft::model
