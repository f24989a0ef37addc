// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/beside.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "calibration/fit/product_sample.hpp"
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

/// Of what CTAs reach over a link: beside more than this share it has little left. The interference suite has paces of
/// 40 and 48 GB/s, 0.76 and 0.91 of 52.6 GB/s on one H200, and beside the higher one products are slower: half way.
constexpr double little_left = 5.0 / 6;

double middle(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A product's price runs at the clock that it draws by itself; what a measured clock is below that comes on top.
std::int64_t below_own_clock(std::int64_t permille, double own) {
  return std::min<std::int64_t>(1000,
                                std::llround(static_cast<double>(permille) / std::max(own, 0.1)));
}

/// What a product costs by the kernel that ran: its CTAs, in as long as the product is priced at.
model::GemmCost cost_of_kernel(const model::Profile& profile, const model::GemmProblem& problem,
                               const Kernel& ran, Duration priced) {
  model::GemmTile tile = kernel_of(ran);
  // What a CTA holds is its kind's; samples do not say it.
  for (const model::GemmTile& like : model::gemm_tiles(profile, problem.library)) {
    tile.registers_per_thread = like.registers_per_thread;
    tile.shared_memory = like.shared_memory;
    if (like.tile_m == tile.tile_m && like.tile_n == tile.tile_n) break;
  }
  model::GemmCost cost = model::gemm_cost(profile, problem, model::SmBudget::of(ran.grid), tile,
                                          std::max(1, ran.split_k));
  const double off = ratio(priced, cost.time);
  for (Duration* part : {&cost.start, &cost.prologue, &cost.main_loop, &cost.epilogue,
                         &cost.reduction, &cost.time}) {
    *part = Duration::from_ps(std::llround(static_cast<double>(part->ps()) * off));
  }
  return cost;
}

/// How long a product takes with the SMs that it finds at first, and what its late shares add.
struct Parts {
  Duration first, late;
  Duration whole() const { return first + late; }
};

/// A product beside what holds room as the background does, and nothing else.
Parts run_beside_nothing(const model::Site& site, const model::GemmCost& cost,
                         model::GemmLibrary library, const std::optional<Background>& background,
                         std::int64_t cluster) {
  const sim::Machine& bench = site.built.machine;
  const auto order = model::tile_order(library, cost.kernel.persistent);
  const auto run = [&](bool with_traffic) {
    sim::ProgramBuilder builder;
    sim::CallWriter host = builder.thread(bench.rank(sim::RankId(0)).process);
    const sim::StreamId compute = builder.stream(sim::RankId(0), 0, "compute");
    const sim::StreamId beside = builder.stream(sim::RankId(0), 0, "beside");
    const sim::KernelId product = builder.kernel("product", static_cast<int>(cost.grid))
                                      .cluster(static_cast<int>(cluster))
                                      .footprint(cost.footprint)
                                      .role(sim::Purpose::compute, order)
                                      .range(cost.tiles, cost.tile_time(), model::matrix_demand)
                                      .memory(site.built.memories[0].device, cost.hbm_per_tile)
                                      .id();
    const bool first = with_traffic && background->order != "gemm_first";
    if (with_traffic) {
      // It ends long after the product; only how long the product took is looked at.
      const sim::KernelId other =
          builder.kernel("traffic", background->ctas)
              .footprint({traffic_threads, traffic_registers, {}})
              .role(sim::Purpose::communication, sim::TileOrder::static_shares)
              .range(background->ctas, cost.time * 64, model::copy_demand)
              .id();
      const sim::EventId resident = builder.event();
      if (first) {
        host.launch_completing(beside, other, resident).wait(compute, resident);
        host.launch(compute, product);
      } else {
        host.launch_completing(compute, product, resident).wait(beside, resident);
        host.launch(beside, other);
      }
    } else {
      host.launch(compute, product);
    }
    const sim::Program program = builder.finish();
    StreamEnd end(compute);
    sim::RecordSink* sink = &end;
    static_cast<void>(sim::run(bench, program, {}, {&sink, 1}));
    const Duration time = end.end - TimePoint();
    // The clock of such a case starts once the traffic is resident.
    return first ? time - bench.control.launch - bench.control.event_hop : time;
  };
  const Duration alone = run(false);
  if (!background || background->ctas == 0) return {alone, {}};
  const Duration so = run(true);
  if (so <= alone || order != sim::TileOrder::static_shares) return {so, {}};
  return {alone,
          Duration::from_ps(std::llround(static_cast<double>((so - alone).ps()) * cost.clock))};
}

/// The time of so much of a product while the slow-down of a regime acts on it.
double slowed(double plain, double turns, const std::optional<std::string>& regime, double factor) {
  if (!regime) return plain;
  return holds_back_loads(*regime) ? plain + turns * (factor - 1) : plain * factor;
}

/// The background as it acts from so many SMs: each CTA keeps its own share of the pace.
Background acting_from(const Background& all, std::int64_t sms) {
  Background some = all;
  some.ctas = static_cast<int>(std::clamp<std::int64_t>(sms, 0, all.ctas));
  if (all.ctas > 0) some.pace_bytes_per_second = all.pace_bytes_per_second * some.ctas / all.ctas;
  return some;
}

}  // namespace

bool is_beside_traffic(const Case& what) {
  return what.operation == "gemm" && what.figure == "beside" && what.backend == "host_link" &&
         what.background && what.shape && what.sms;
}

std::optional<std::string> regime_of(const Background& background, const model::Profile& profile) {
  if (!writes_host(background) && !reads_host(background)) {
    if (background.kind == "copy" && background.direction == "device") return "copies in HBM";
    if (background.kind == "reduce") return "sums in HBM";
    if (background.kind == "copy_engine" && background.direction == "device")
      return "copy engine in HBM";
    return std::nullopt;
  }
  const bool writes = writes_host(background), paced = background.pace_bytes_per_second > 0;
  const bool windowed =
      background.in_flight_bytes > 0 && background.in_flight_bytes < traffic_in_flight;
  const model::CopyPath path = path_of(background);
  const auto reach =
      std::find_if(profile.sm_copies.begin(), profile.sm_copies.end(),
                   [&](const model::SmCopyCosts& each) { return each.path == path; });
  const bool close = reach != profile.sm_copies.end() &&
                     static_cast<double>(background.pace_bytes_per_second) >
                         little_left * static_cast<double>(reach->cap.value.bytes_per_second());
  // CTAs that are held to a window wait for their own stores.
  const std::string kind = !writes     ? windowed ? "reads of a window" : "reads"
                           : !windowed ? "posted writes"
                                       : "writes of a window";
  if (paced) return kind + (close ? " close below the link's rate" : " below the link's rate");
  if (windowed) return kind;
  return kind + (writes ? " behind a full link" : " of a full link");
}

double in_flight_share(const Background& background) {
  if (background.in_flight_bytes <= 0) return 1;
  return std::min(1.0, static_cast<double>(background.in_flight_bytes) /
                           static_cast<double>(traffic_in_flight));
}

bool holds_back_loads(const std::string& regime) {
  return regime.starts_with("posted writes") || regime.starts_with("writes");
}

bool is_among_products(const Background& background, std::int64_t cluster) {
  constexpr std::int64_t sms_of_a_tpc = 2;
  return background.order == "gemm_first" && cluster <= sms_of_a_tpc;
}

std::string term_of(const std::string& regime, const std::string& library, bool among_products) {
  return regime + (among_products ? " from among a product's SMs" : "") +
         (library == "weft" ? ", beside our products" : ", beside the library's products");
}

Duration time_of_turns(const model::Profile& profile, const model::GemmCost& cost) {
  if (!profile.gemm) return {};
  const double turns = static_cast<double>(cost.waves * cost.k_steps) /
                       static_cast<double>(std::max<std::int64_t>(1, cost.kernel.stages));
  return Duration::from_ps(
      std::llround(turns * static_cast<double>(profile.gemm->load_latency.value.ps())));
}

double interference_factor(const model::Profile& profile, const Background& background,
                           const std::string& library, bool among_products) {
  const auto regime = regime_of(background, profile);
  if (!regime || background.ctas == 0) return 1;
  const double in_flight = in_flight_share(background);
  const std::string own = term_of(*regime, library, among_products);
  const std::string common = term_of(*regime, library);
  double factor = 1;
  for (const model::InterferenceTerm& term : profile.interference) {
    if (term.name != own && term.name != common) continue;
    // Of CTAs at a slower pace than any that was measured, as many count as would move at that one.
    const double pace =
        background.pace_bytes_per_second > 0 && term.pace
            ? std::min(1.0, static_cast<double>(background.pace_bytes_per_second) /
                                static_cast<double>(term.pace->value.bytes_per_second()))
            : 1.0;
    const double ctas = background.ctas * in_flight * pace;
    const double here = term.points.empty() ? term.slow_down.value : slow_down_at(term, ctas);
    const bool reached =
        term.points.empty() || ctas <= static_cast<double>(term.points.back().ctas);
    if (term.name == own && reached) return here;
    // More CTAs than any that were measured there: no less than elsewhere.
    factor = std::max(factor, here);
  }
  return factor;
}

std::optional<Duration> predict_beside(const topology::MachineSpec& machine,
                                       const model::Profile& profile, const Case& what,
                                       std::int64_t speed_permille, const BesideBench& offsets,
                                       const Kernel* kernel, const BesideEffects& effects) {
  if (what.operation != "gemm" || !what.shape || !what.sms) return std::nullopt;
  model::Site site = model::make_host_site(machine, profile, {0, 0}, 2);
  sim::Machine& bench = site.built.machine;
  for (sim::Process& process : bench.processes)
    process.launch_cost = process.graph_launch_cost = Duration();
  const Shape& s = *what.shape;
  const auto library =
      what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
  const int margin = std::max(
      0, site.sms(0).sms() > *what.sms ? static_cast<int>(site.sms(0).sms()) - *what.sms : 0);
  const model::GemmProblem problem{.m = s.m, .n = s.n, .k = s.k, .library = library};
  const bool known = kernel != nullptr && kernel->tile.size() == 3 && kernel->cluster.size() == 2;
  const model::GemmCost priced = site.prices->gemm(problem, site.sms(0, margin));
  const model::GemmCost cost =
      known ? cost_of_kernel(profile, problem, *kernel, priced.time) : priced;
  for (sim::Device& device : bench.devices) {
    device.speed_permille = below_own_clock(speed_permille, cost.clock);
    device.interference.clear();
  }
  const std::int64_t cluster = effects.clusters ? cost.kernel.cluster_m * cost.kernel.cluster_n : 1;
  const Parts so = run_beside_nothing(site, cost, library, what.background, cluster);
  double picoseconds = static_cast<double>(so.whole().ps());
  if (what.background) {
    const Background& all = *what.background;
    const auto regime = regime_of(all, profile);
    const bool among = effects.among_products && is_among_products(all, cluster);
    const double late = effects.late_apart ? static_cast<double>(so.late.ps()) : 0.0;
    const double first = picoseconds - late;
    const double alone = static_cast<double>(cost.time.ps());
    const double loads =
        effects.turns_of_loads ? static_cast<double>(time_of_turns(profile, cost).ps()) : 0.0;
    const double turns = loads * std::max(1.0, first / alone);
    std::int64_t free = all.ctas, free_at_last = all.ctas;
    if (all.order == "gemm_first") {
      free = site.sms(0).sms() - cost.grid;
      const std::int64_t done_early =
          std::clamp<std::int64_t>(cost.waves * cost.grid - cost.tiles, 0, cost.grid);
      free_at_last = free + (effects.last_tile ? done_early : 0);
    }
    const auto acting = [&](std::int64_t sms, bool among_products) {
      return interference_factor(profile, acting_from(all, sms), what.library, among_products);
    };
    // SMs that are done early lie all over the device.
    const double before = acting(free, among);
    const double at_last = std::max(before, acting(free_at_last, false));
    const double last = 1.0 / static_cast<double>(std::max<std::int64_t>(1, cost.waves));
    picoseconds = slowed(first * (1 - last), turns * (1 - last), regime, before) +
                  slowed(first * last, turns * last, regime, at_last) + late;
  }
  const auto unit = offsets.unit.find(what.library);
  if (unit != offsets.unit.end()) picoseconds *= unit->second;
  Duration time = Duration::from_ps(std::llround(picoseconds));
  if (what.background) {
    const auto launch = offsets.launch.find({what.library, what.background->order});
    if (launch != offsets.launch.end()) time += launch->second;
  }
  return std::max(time, Duration());
}

std::map<const Run*, BesideBench> beside_benches(const topology::MachineSpec& machine,
                                                 const model::Profile& profile,
                                                 const std::vector<Observation>& samples) {
  constexpr int kFew = 8;
  std::map<const Run*, std::map<std::string, std::vector<double>>> units;
  std::map<const Run*, std::map<std::pair<std::string, std::string>, std::vector<double>>> launches;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.figure != "alone" || what.operation != "gemm" || !what.sms ||
        what.backend != "host_link") {
      continue;
    }
    const auto time = predict_beside(machine, profile, what, 1000, {}, &seen.sample->kernel);
    if (time) units[seen.run][what.library].push_back(ratio(seen.time(), *time));
  }
  std::map<const Run*, BesideBench> benches;
  for (auto& [run, by_library] : units)
    for (auto& [library, ratios] : by_library) benches[run].unit[library] = middle(ratios);
  const int sms = static_cast<int>(profile.gpu.sms.value);
  for (const Observation& seen : samples) {
    if (seen.published || !is_beside_traffic(seen.what())) continue;
    const Case& what = seen.what();
    const Background& b = *what.background;
    const auto bench = benches.find(seen.run);
    const bool room = b.order == "gemm_first" || *what.sms + b.ctas <= sms - kFew;
    if (b.kind != "spin" || b.ctas > kFew || !room || bench == benches.end()) continue;
    const auto time = predict_beside(machine, profile, what, 1000, {bench->second.unit, {}},
                                     &seen.sample->kernel);
    if (!time) continue;
    launches[seen.run][{what.library, b.order}].push_back(
        static_cast<double>((seen.time() - *time).ps()));
  }
  for (auto& [run, by_order] : launches) {
    for (auto& [which, delays] : by_order) {
      benches[run].launch[which] = Duration::from_ps(std::llround(middle(delays)));
    }
  }
  return benches;
}

std::optional<Bandwidth> predict_traffic(const model::Profile& profile,
                                         const Background& background, Duration product,
                                         std::int64_t free_sms) {
  const model::CopyPath path = path_of(background);
  if (path == model::CopyPath::same_device || background.in_flight_bytes > 0) return std::nullopt;
  if (background.kind == "copy_engine") return profile.copy_engine(path).rate.value;
  if (background.kind != "copy") return std::nullopt;
  const model::SmCopyCosts& sms = profile.sm_copy(path);
  const Bandwidth free = std::min(sms.per_cta.value * background.ctas, sms.cap.value);
  if (background.pace_bytes_per_second == 0) return free;
  const Bandwidth pace =
      std::min(free, Bandwidth::from_bytes_per_second(background.pace_bytes_per_second));
  const bool some = background.order == "gemm_first" && free_sms > 0 && free_sms < background.ctas;
  if (!some) return pace;
  // The others come when the product leaves, and all look for the end of it after some batches only.
  const Duration last = Bytes::from(traffic_between_looks * background.ctas) / pace;
  const double share = ratio(last, product + last);
  const double moving =
      static_cast<double>(free_sms) + static_cast<double>(background.ctas - free_sms) * share;
  return Bandwidth::from_bytes_per_second(
      std::llround(static_cast<double>(pace.bytes_per_second()) * moving / background.ctas));
}

}  // namespace weft::calibration
