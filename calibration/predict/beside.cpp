// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/beside.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/cost/gemm.hpp"
#include "models/schedules/demands.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/site.hpp"
#include "sim/program_builder.hpp"
#include "sim/record.hpp"
#include "sim/run.hpp"

namespace weft::calibration {

namespace {

/// Notes when the commands of one stream end.
class StreamEnd final : public sim::RecordSink {
 public:
  explicit StreamEnd(sim::StreamId stream) : stream_(stream) {}
  using sim::RecordSink::on;
  void on(const sim::CommandSpan& span) override {
    if (span.stream == stream_) end = std::max(end, span.end);
  }
  TimePoint end;

 private:
  sim::StreamId stream_;
};

model::CopyPath path_of(const Background& background) {
  return background.direction == "to_device" ? model::CopyPath::from_host
         : background.direction == "to_host" ? model::CopyPath::to_host
                                             : model::CopyPath::same_device;
}

bool writes_host(const Background& background) {
  return background.kind == "copy" && background.direction == "to_host";
}
bool reads_host(const Background& background) {
  return background.kind == "copy" && background.direction == "to_device";
}

double slow_down_at(const model::InterferenceTerm& term, double ctas) {
  double below = 0, slow_below = 1;
  for (const model::InterferencePoint& point : term.points) {
    const double at = static_cast<double>(point.ctas);
    if (ctas <= at) {
      return slow_below + (point.slow_down.value - slow_below) * (ctas - below) / (at - below);
    }
    below = at;
    slow_below = point.slow_down.value;
  }
  return slow_below;
}

/// What a CTA of the traffic holds (kernels/measure/traffic.cu).
constexpr int traffic_threads = 512, traffic_registers = traffic_threads * 64;

/// CTAs of the traffic that find room on SMs of which nothing else has any.
int traffic_room(const sim::Machine& machine, std::int64_t free_sms) {
  const sim::SmCapacity& sm = machine.devices.front().sms.per_sm;
  const int each = std::min(sm.registers / traffic_registers, sm.threads / traffic_threads);
  return static_cast<int>(std::max<std::int64_t>(0, free_sms)) * each;
}

}  // namespace

bool is_beside_traffic(const Case& what) {
  return what.operation == "gemm" && what.figure == "beside" && what.backend == "host_link" &&
         what.background && what.shape && what.sms;
}

std::optional<std::string> regime_of(const Background& background) {
  const bool held =
      background.pace_bytes_per_second > 0 ||
      (background.in_flight_bytes > 0 && background.in_flight_bytes < traffic_in_flight);
  if (writes_host(background))
    return held ? "posted writes below the link's rate" : "posted writes behind a full link";
  if (reads_host(background)) return held ? "reads below the link's rate" : "reads of a full link";
  return std::nullopt;
}

double interference_factor(const model::Profile& profile, const Background& background) {
  const auto regime = regime_of(background);
  if (!regime) return 1;
  const double in_flight = background.in_flight_bytes > 0
                               ? std::min(1.0, static_cast<double>(background.in_flight_bytes) /
                                                   static_cast<double>(traffic_in_flight))
                               : 1.0;
  for (const model::InterferenceTerm& term : profile.interference) {
    if (term.name == *regime) return slow_down_at(term, background.ctas * in_flight);
  }
  return 1;
}

std::optional<Duration> predict_beside(const topology::MachineSpec& machine,
                                       const model::Profile& profile, const Case& what,
                                       std::int64_t speed_permille) {
  if (what.operation != "gemm" || !what.shape || !what.sms) return std::nullopt;
  model::Site site = model::make_host_site(machine, profile, {0, 0}, 2);
  sim::Machine& bench = site.built.machine;
  for (sim::Process& process : bench.processes)
    process.launch_cost = process.graph_launch_cost = Duration();
  for (sim::Device& device : bench.devices) {
    device.speed_permille = speed_permille;
    device.interference.clear();
  }
  const Shape& s = *what.shape;
  const auto library =
      what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
  const int margin = std::max(
      0, site.sms(0).sms() > *what.sms ? static_cast<int>(site.sms(0).sms()) - *what.sms : 0);
  const model::GemmCost cost =
      site.prices->gemm({.m = s.m, .n = s.n, .k = s.k, .library = library}, site.sms(0, margin));
  double factor = 1;
  if (what.background) {
    Background acting = *what.background;
    if (acting.order == "gemm_first") {
      acting.ctas = std::min(acting.ctas, traffic_room(bench, site.sms(0).sms() - cost.grid));
    }
    factor = interference_factor(profile, acting);
  }

  sim::ProgramBuilder builder;
  sim::CallWriter host = builder.thread(bench.rank(sim::RankId(0)).process);
  const sim::StreamId compute = builder.stream(sim::RankId(0), 0, "compute");
  const sim::StreamId beside = builder.stream(sim::RankId(0), 0, "beside");
  const sim::KernelId product =
      builder.kernel("product", static_cast<int>(cost.grid))
          .cluster(static_cast<int>(cost.kernel.cluster_m * cost.kernel.cluster_n))
          .footprint(cost.footprint)
          .role(sim::Purpose::compute, sim::TileOrder::static_shares)
          .range(
              cost.tiles,
              Duration::from_ps(std::llround(static_cast<double>(cost.tile_time().ps()) * factor)),
              model::matrix_demand)
          .memory(site.built.memories[0].device, cost.hbm_per_tile)
          .id();
  const auto launch_product = [&] { host.launch(compute, product); };
  if (what.background && what.background->ctas > 0) {
    // It ends long after the product; only how long the product took is looked at.
    const Background& traffic = *what.background;
    const sim::KernelId other =
        builder.kernel("traffic", traffic.ctas)
            .footprint({traffic_threads, traffic_registers, {}})
            .role(sim::Purpose::communication, sim::TileOrder::static_shares)
            .range(traffic.ctas, cost.time * 64, model::copy_demand)
            .id();
    if (traffic.order == "gemm_first") {
      const sim::EventId resident = builder.event();
      host.launch_completing(compute, product, resident)
          .wait(beside, resident)
          .launch(beside, other);
    } else {
      const sim::EventId resident = builder.event();
      host.launch_completing(beside, other, resident).wait(compute, resident);
      launch_product();
    }
  } else {
    launch_product();
  }
  const sim::Program program = builder.finish();
  StreamEnd end(compute);
  sim::RecordSink* sink = &end;
  static_cast<void>(sim::run(bench, program, {}, {&sink, 1}));
  Duration time = end.end - TimePoint();
  if (what.background && what.background->ctas > 0 && what.background->order != "gemm_first") {
    // The clock of such a case starts once the traffic is resident.
    time -= bench.control.launch + bench.control.event_hop;
  }
  return std::max(time, Duration());
}

std::optional<Bandwidth> predict_traffic(const model::Profile& profile,
                                         const Background& background) {
  const model::CopyPath path = path_of(background);
  if (path == model::CopyPath::same_device || background.in_flight_bytes > 0) return std::nullopt;
  if (background.kind == "copy_engine") return profile.copy_engine(path).rate.value;
  if (background.kind != "copy") return std::nullopt;
  const model::SmCopyCosts& sms = profile.sm_copy(path);
  const Bandwidth free = std::min(sms.per_cta.value * background.ctas, sms.cap.value);
  if (background.pace_bytes_per_second == 0) return free;
  return std::min(free, Bandwidth::from_bytes_per_second(background.pace_bytes_per_second));
}

}  // namespace weft::calibration
