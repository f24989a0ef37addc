// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/schedules/chunks_by_rank.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/one_process.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/fold.hpp"
#include "sim/units/check.hpp"

namespace weft::calibration {
namespace {

std::optional<model::BoundaryKind> kind_of(const Case& what) {
  if (what.operation == "ag_gemm") return model::BoundaryKind::ag_gemm;
  if (what.operation == "gemm_rs") return model::BoundaryKind::gemm_rs;
  return std::nullopt;
}

// A case's shape is one rank's product.
model::Boundary boundary_of(const Case& what, model::BoundaryKind kind, int ranks) {
  const bool gathers = kind == model::BoundaryKind::ag_gemm;
  const Shape& shape = *what.shape;
  const model::MatmulShape global{shape.m, gathers ? shape.n * ranks : shape.n,
                                  gathers ? shape.k : shape.k * ranks};
  return model::make_boundary(kind, global, TensorFormat{DType::bf16, DType::fp32, 0}, ranks);
}

// The case's chunks are pieces of each rank's shard; the plan counts what it moves from all peers.
model::Knobs knobs_of(const Case& what, const model::Schedule& schedule, int ranks) {
  model::Knobs knobs(schedule.info().knobs);
  knobs.set("order", std::string("rotated"));
  knobs.set("chunks", std::int64_t{what.chunks.value_or(1)} * (ranks - 1));
  knobs.set("transport", what.transport);
  knobs.set("margin", std::int64_t{what.margin.value_or(0)});
  knobs.set("ctas", std::int64_t{what.ctas.value_or(8)});
  knobs.set("pace", std::string(what.pace_bytes_per_second.value_or(0) > 0 ? "95%" : "free"));
  return knobs;
}

// Runs that are alike on all ranks are folded.
PredictedCase run(const sim::Machine& machine, const sim::Program& program,
                  const sim::Effects& effects, Duration frame) {
  const sim::Folded folded = sim::fold(machine, program);
  const sim::RunOptions options{effects, {}};
  const sim::ModesResult result = folded.refused.empty()
                                      ? sim::run_modes(folded.machine, folded.program, options)
                                      : sim::run_modes(machine, program, options);
  PredictedCase predicted;
  for (const sim::Mode& mode : result.modes)
    predicted.modes.push_back({mode.share, mode.result.end - TimePoint() + frame});
  return predicted;
}

// A product's price runs at the clock that it draws by itself; what a measured clock is below that comes on top.
std::int64_t beyond_own_clock(const model::Site& site, const Shape& shape, std::int64_t permille) {
  if (permille >= 1000) return 1000;
  const model::GemmProblem product{
      .m = shape.m, .n = shape.n, .k = shape.k, .library = site.products};
  const double own = site.prices->gemm(product, site.sms(0, 0)).clock;
  return std::min<std::int64_t>(1000,
                                std::llround(static_cast<double>(permille) / std::max(own, 0.1)));
}

}  // namespace

Duration PredictedCase::expected() const {
  double shares = 0, sum = 0;
  for (const PredictedMode& mode : modes) {
    shares += mode.share;
    sum += mode.share * static_cast<double>(mode.time.ps());
  }
  return Duration::from_ps(static_cast<std::int64_t>(sum / shares));
}

Predictor::Predictor(topology::MachineSpec machine, model::Profile profile, Frames frames,
                     bool tile_order, bool one_process, bool weights_stay)
    : machine_(std::move(machine)),
      profile_(std::move(profile)),
      frames_(std::move(frames)),
      tile_order_(tile_order),
      one_process_(one_process),
      weights_stay_(weights_stay) {}

const model::Site& Predictor::site_of(const Case& what) {
  const int ranks = what.ranks.value_or(2);
  const std::int64_t pace = what.pace_bytes_per_second.value_or(0);
  // Where nothing is communicated no stream waits.
  const bool alone = what.figure == "A_s";
  const std::string name =
      fmt::format("{} {} {} {} {}", what.backend, ranks, what.library, pace, alone);
  const auto found = sites_.find(name);
  if (found != sites_.end()) return found->second;
  model::Site site;
  if (what.backend == "virtual_ranks") {
    std::vector<topology::RankPlace> places;
    for (int rank = 0; rank < ranks; ++rank) places.push_back({0, 0, rank, ranks});
    site = model::make_site(machine_, profile_, places);
  } else if (what.backend == "peer_gpus") {
    std::vector<topology::RankPlace> places;
    for (int rank = 0; rank < ranks; ++rank) places.push_back({0, rank, 0, 1});
    site = model::make_site(machine_, profile_, places);
  } else {
    site = model::make_host_site(machine_, profile_, {0, 0}, ranks);
  }
  if (one_process_) model::share_process(site);
  site.products = what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
  site.prices_tile_order = tile_order_;
  site.prices->weights_stay = weights_stay_;
  if (auto& gemm = site.profile.gemm; gemm && alone) {
    // As behind a kernel alone.
    const model::Sourced<Duration> nothing{};
    if (gemm->behind) gemm->behind->waits = nothing;
    if (gemm->own && gemm->own->behind) gemm->own->behind->waits = nothing;
  }
  if (pace > 0) site.pace = Bandwidth::from_bytes_per_second(pace);
  for (sim::Process& process : site.built.machine.processes)
    process.launch_cost = process.graph_launch_cost = Duration();
  return sites_.emplace(name, std::move(site)).first->second;
}

std::optional<PredictedCase> Predictor::predict(const Case& what, const sim::Effects& effects,
                                                std::int64_t speed_permille) {
  const auto kind = kind_of(what);
  const bool known =
      what.backend == "host_link" || what.backend == "virtual_ranks" || what.backend == "peer_gpus";
  if (!kind || !what.shape || !known) return std::nullopt;
  const model::Site& site = site_of(what);
  const model::Boundary boundary = boundary_of(what, *kind, site.ranks());
  const bool unfused = what.figure == "A" || what.figure == "B" || what.figure == "C";
  const model::Schedule* schedule =
      model::find_schedule(unfused ? std::string("chunked") : what.schedule);
  if (schedule == nullptr) return std::nullopt;
  model::Knobs knobs = knobs_of(what, *schedule, site.ranks());
  sim::Program program;
  if (unfused) {
    knobs.set("chunks", std::int64_t{site.ranks() - 1});
    model::LayerProgram layer(site);
    model::emit_unfused(boundary, knobs, layer, what.figure != "B", what.figure != "A");
    program = layer.finish();
  } else {
    if (!schedule->refusals(boundary, knobs, site).empty()) return std::nullopt;
    program = model::boundary_program(boundary, {schedule, knobs}, site);
    if (what.figure == "A_s") program = sim::without_communication(program);
    if (what.figure == "B_s") program = sim::without_compute(program);
  }
  const std::int64_t slower = beyond_own_clock(site, *what.shape, speed_permille);
  const Duration frame =
      effects.launch_and_sync ? frame_of(frames_, what).value_or(Duration()) : Duration();
  if (slower == 1000) return run(site.built.machine, program, effects, frame);
  sim::Machine machine = site.built.machine;
  for (sim::Device& device : machine.devices) device.speed_permille = slower;
  return run(machine, program, effects, frame);
}

}  // namespace weft::calibration
