// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/runner.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <cuda_runtime.h>

#include "kernels/measure/beside.hpp"
#include "kernels/measure/collective_case.hpp"
#include "kernels/measure/primitives.hpp"
#include "kernels/measure/waits.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/shapes/table.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;
using calibration::Sample;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void median_of(std::vector<int> values, int& into) {
  if (values.empty()) return;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  into = *middle;
}

/// Our tile of 128 x 256 in clusters of this size.
int tile_with_cluster(int cluster) {
  for (std::size_t i = 0; i < shapes::tiles.size(); ++i)
    if (const shapes::Tile& tile = shapes::tiles[i];
        tile.m() == 128 && tile.n() == 256 && tile.cluster() == cluster)
      return static_cast<int>(i);
  throw std::invalid_argument("no tile of 128 x 256 in clusters of " + std::to_string(cluster));
}

GemmChoice choice_of(const Case& what) {
  GemmChoice choice;
  if (what.cluster) choice.tile = tile_with_cluster(*what.cluster);
  choice.library = what.library;
  choice.sms = what.sms.value_or(0);
  choice.scheduler = what.variant == "counter" ? Scheduler::counter : Scheduler::static_shares;
  return choice;
}

}  // namespace

Cut cut_of(const Case& what) {
  return {.chunks = what.chunks.value_or(1),
          .mover = what.transport == "sm"        ? Mover::ctas
                   : what.transport == "library" ? Mover::library
                                                 : Mover::copy_engine,
          .margin = what.margin.value_or(0),
          .ctas = what.ctas.value_or(8),
          .pace_bytes_per_second = what.pace_bytes_per_second.value_or(0),
          .in_flight_bytes = what.in_flight_bytes.value_or(0),
          .owners_in_turns = what.variant == "turns",
          .sums_in_epilogue = what.variant == "epilogue"};
}

Enqueue work_of(BoundaryCase& boundary, const Case& what) {
  const Cut cut = cut_of(what);
  if (what.figure == "A") return boundary.compute();
  if (what.figure == "B") return boundary.collective(cut);
  if (what.figure == "C") return boundary.serial(cut);
  const bool flags = what.schedule == "device_flag";
  if (!flags && what.schedule != "chunked")
    throw std::invalid_argument("no schedule " + what.schedule);
  if (what.figure == "D") return flags ? boundary.device_flag(cut) : boundary.chunked(cut);
  if (what.figure == "A_s")
    return flags ? boundary.device_flag_compute(cut) : boundary.chunked_compute(cut);
  if (what.figure == "B_s")
    return flags ? boundary.device_flag_transfers(cut) : boundary.chunked_transfers(cut);
  throw std::invalid_argument("no figure " + what.figure);
}

Runner::Runner(const NcclGroup& joined, int rank, int ranks) : Runner() {
  joined_ = &joined;
  rank_ = rank;
  ranks_ = ranks;
}

Runner::Runner() {
  WEFT_CUDA(cudaSetDevice(0));
  WEFT_CUDA(cudaFree(nullptr));
  watch_ = std::make_unique<ConditionWatch>(0);
  try {
    library_ = std::make_unique<CublasLt>();
  } catch (const std::runtime_error&) {
    // Cases that need the library are refused by name.
    library_.reset();
  }
  try {
    nccl_ = std::make_unique<Nccl>();
  } catch (const std::runtime_error&) {
    nccl_.reset();
  }
}

Runner::~Runner() = default;

calibration::Run Runner::machine() const {
  calibration::Run run;
  cudaDeviceProp properties{};
  WEFT_CUDA(cudaGetDeviceProperties(&properties, 0));
  int version = 0;
  WEFT_CUDA(cudaRuntimeGetVersion(&version));
  run.device = properties.name;
  run.devices = view().devices;
  run.sms = properties.multiProcessorCount;
  run.driver = watch_->driver_version();
  run.cuda = version_text(version);
  if (library_) run.cublaslt = std::to_string(library_->version());
  if (nccl_) run.nccl = std::to_string(nccl_->version());
  return run;
}

Sample Runner::sample_of(const Case& what, const Times& times) const {
  Sample sample;
  sample.what = what;
  sample.times = times.each;
  if (times.began_ns.empty()) return sample;
  const std::vector<Reading> readings =
      watch_->between(times.began_ns.front(), times.ended_ns.back());
  std::vector<int> sm;
  std::vector<int> memory;
  std::vector<int> power;
  std::vector<int> temperature;
  std::uint64_t reasons = 0;
  for (const Reading& reading : readings) {
    sm.push_back(reading.sm_mhz);
    memory.push_back(reading.memory_mhz);
    power.push_back(reading.power_w);
    temperature.push_back(reading.temperature_c);
    reasons |= reading.throttle;
  }
  median_of(sm, sample.conditions.sm_mhz);
  median_of(memory, sample.conditions.memory_mhz);
  median_of(power, sample.conditions.power_w);
  median_of(temperature, sample.conditions.temperature_c);
  sample.conditions.throttle = throttle_names(reasons);
  for (std::size_t i = 0; i < times.began_ns.size() && i < times.each.size(); ++i)
    for (const Reading& reading : readings)
      if (spoils_a_time(reading.throttle) && reading.at_ns >= times.began_ns[i] &&
          reading.at_ns <= times.ended_ns[i]) {
        sample.throttled.push_back(static_cast<int>(i));
        break;
      }
  return sample;
}

JobResult Runner::run(const Job& job) {
  JobResult result;
  if (job.cases.empty()) return result;
  try {
    Stage& stage = stage_for(job.cases.front());
    if (job.kind == "gemm")
      run_gemm(stage, job, result);
    else if (job.kind == "interference")
      run_interference(stage, job, result);
    else if (job.kind == "boundary" || job.kind == "decision")
      run_boundary(stage, job, result);
    else
      run_single(stage, job, result);
  } catch (const std::exception& error) {
    result.refusals.push_back(job.cases.front().operation + ": " + error.what());
  }
  return result;
}

void Runner::run_single(Stage& stage, const Job& job, JobResult& result) {
  for (const Case& what : job.cases) {
    stage.reset();
    if (job.kind == "collectives") {
      double check = 0;
      const Times times = run_collective(stage, what, job.warm_up, job.repetitions, check);
      result.samples.push_back(sample_of(what, times));
      result.samples.back().check = check;
    } else {
      const auto run = job.kind == "waits" ? run_wait : run_primitive;
      result.samples.push_back(sample_of(what, run(stage, what, job.warm_up, job.repetitions)));
    }
  }
}

namespace {

/// Operands of one product, one set for each rotation.
struct OperandSets {
  std::vector<Operands> sets;

  OperandSets(Stage& stage, const calibration::Shape& shape) {
    const std::int64_t x = 2 * shape.m * shape.k;
    const std::int64_t w = 2 * shape.n * shape.k;
    const std::int64_t y = 2 * shape.m * shape.n;
    const int count =
        static_cast<int>(std::clamp<std::int64_t>(128'000'000 / (x + w + y) + 1, 1, 4));
    for (int i = 0; i < count; ++i)
      sets.push_back(
          {shape.m, shape.n, shape.k, stage.random(0, x), stage.random(0, w), stage.scratch(0, y)});
  }
};

double check_operands(Stage& stage, const Operands& operands, const Multiplier& multiplier) {
  auto* y = static_cast<std::byte*>(operands.y);
  cudaStream_t stream = stage.memory().stream(0, StreamRole::compute);
  fill_poison(y, static_cast<std::size_t>(2 * operands.m * operands.n), stream);
  multiplier.run(stream);
  ProductCheck check;
  check.x = static_cast<const std::byte*>(operands.x);
  check.w = static_cast<const std::byte*>(operands.w);
  check.out = y;
  check.m = operands.m;
  check.n = operands.n;
  check.k = operands.k;
  check_product(check, stage.check_result(), stream);
  const CheckResult found = stage.take_check_result();
  stage.refuse_wait_errors();
  return verdict(found);
}

/// The fastest of the library's first proposals, by the median of a few runs.
int best_proposal(Stage& stage, const OperandSets& operands, GemmChoice choice) {
  constexpr int kProposals = 5;
  constexpr int kTries = 5;
  std::vector<Enqueue> work;
  for (int i = 0; i < kProposals; ++i) {
    choice.proposal = i;
    const Multiplier one = make_multiplier(stage, 0, operands.sets[0], choice);
    work.emplace_back([one](int, cudaStream_t stream) { one.run(stream); });
  }
  const std::vector<Times> times = stage.timer().interleave(work, 1, kTries);
  int best = 0;
  for (int i = 1; i < kProposals; ++i)
    if (calibration::median(times[static_cast<std::size_t>(i)].each) <
        calibration::median(times[static_cast<std::size_t>(best)].each))
      best = i;
  return best;
}

}  // namespace

void Runner::run_gemm(Stage& stage, const Job& job, JobResult& result) {
  const OperandSets operands(stage, *job.cases.front().shape);
  std::vector<Enqueue> work;
  std::vector<Sample> prepared;
  for (const Case& what : job.cases) {
    try {
      GemmChoice choice = choice_of(what);
      if (what.variant == "best") choice.proposal = best_proposal(stage, operands, choice);
      std::vector<Multiplier> made;
      for (const Operands& set : operands.sets)
        made.push_back(make_multiplier(stage, 0, set, choice));
      Sample sample;
      sample.what = what;
      sample.kernel = made.front().kernel;
      sample.check = check_operands(stage, operands.sets.front(), made.front());
      prepared.push_back(std::move(sample));
      work.emplace_back([made](int repetition, cudaStream_t stream) {
        made[static_cast<std::size_t>(repetition) % made.size()].run(stream);
      });
    } catch (const std::exception& error) {
      result.refusals.push_back("gemm by " + what.library + ": " + error.what());
    }
  }
  const std::vector<Times> times =
      stage.timer().interleave(work, job.warm_up, job.repetitions, job.rest);
  for (std::size_t i = 0; i < work.size(); ++i) {
    Sample sample = sample_of(prepared[i].what, times[i]);
    sample.kernel = prepared[i].kernel;
    sample.check = prepared[i].check;
    result.samples.push_back(std::move(sample));
  }
}

void Runner::run_interference(Stage& stage, const Job& job, JobResult& result) {
  if (rank_ != 0) {
    // The product is the first rank's; the others have their part in the traffic.
    TrafficBuffers buffers(stage);
    for (const Case& what : job.cases)
      if (what.background)
        take_part(stage, buffers, *what.background, job.expected_ns, job.warm_up, job.repetitions);
    return;
  }
  const OperandSets operands(stage, *job.cases.front().shape);
  const GemmChoice choice = choice_of(job.cases.front());
  const Multiplier product = make_multiplier(stage, 0, operands.sets.front(), choice);
  const double check = check_operands(stage, operands.sets.front(), product);
  TrafficBuffers buffers(stage);
  std::int64_t expected_ns = job.expected_ns;
  for (const Case& what : job.cases) {
    Sample sample;
    if (!what.background) {
      const Times alone =
          stage.timer()
              .interleave({[&product](int, cudaStream_t stream) { product.run(stream); }},
                          job.warm_up + 5, job.repetitions, job.rest)
              .front();
      expected_ns = calibration::median(alone.each).ps() / 1000;
      sample = sample_of(what, alone);
    } else {
      const BesideTimes times = run_beside(stage, buffers, *what.background, product, expected_ns,
                                           job.warm_up, job.repetitions, job.rest);
      sample = sample_of(what, times.product);
      sample.background_bytes_per_second = times.background_bytes_per_second;
    }
    sample.kernel = product.kernel;
    sample.check = check;
    result.samples.push_back(std::move(sample));
  }
}

void Runner::run_boundary(Stage& stage, const Job& job, JobResult& result) {
  const Case& first = job.cases.front();
  const auto boundary =
      first.operation == "ag_gemm"
          ? make_gather_case(stage, *first.shape, choice_of(first))
          : make_scatter_case(stage, *first.shape, choice_of(first), first.operation);
  std::vector<Enqueue> work;
  std::vector<Sample> prepared;
  for (const Case& what : job.cases) {
    try {
      Enqueue one = work_of(*boundary, what);
      Sample sample;
      sample.what = what;
      const bool whole = what.figure == "C" || what.figure == "D";
      if (whole) sample.check = boundary->check(one);
      if (what.figure != "B" && what.figure != "B_s") sample.kernel = boundary->kernel();
      prepared.push_back(std::move(sample));
      work.push_back(std::move(one));
    } catch (const std::exception& error) {
      result.refusals.push_back(what.operation + " " + what.schedule + " " + what.figure + " of " +
                                std::to_string(what.chunks.value_or(1)) + " chunks by " +
                                what.transport + ": " + error.what());
    }
  }
  std::vector<Times> times = stage.timer().interleave(work, job.warm_up, job.repetitions, job.rest);
  try {
    stage.refuse_wait_errors();
  } catch (const std::exception& error) {
    // A wait that gave up spoils what was interleaved with it: without flags everything is timed again.
    result.refusals.push_back(first.operation + " by device flags, " + first.backend + ": " +
                              error.what());
    for (std::size_t i = work.size(); i-- > 0;)
      if (prepared[i].what.schedule == "device_flag") {
        const auto at = static_cast<std::ptrdiff_t>(i);
        work.erase(work.begin() + at);
        prepared.erase(prepared.begin() + at);
      }
    times = stage.timer().interleave(work, job.warm_up, job.repetitions, job.rest);
    stage.refuse_wait_errors();
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    Sample sample = sample_of(prepared[i].what, times[i]);
    sample.kernel = prepared[i].kernel;
    sample.check = prepared[i].check;
    result.samples.push_back(std::move(sample));
  }
}

}  // namespace weft::kernels
