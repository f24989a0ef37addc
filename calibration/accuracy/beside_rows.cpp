// SPDX-License-Identifier: Apache-2.0
// Products beside traffic, and the traffic beside products: the interference suite.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "calibration/accuracy/placement.hpp"
#include "calibration/accuracy/rows.hpp"
#include "calibration/predict/beside.hpp"
#include "calibration/predict/conditions.hpp"

namespace weft::calibration {

namespace {

std::string beside_label(const Case& what) {
  const Shape& s = *what.shape;
  const Background& b = *what.background;
  return fmt::format("{} {}x{}x{} on {} beside {} {} {}, {} CTAs, {} B/s, {} B in flight",
                     what.library, s.m, s.n, s.k, *what.sms, b.kind, b.direction, b.order, b.ctas,
                     b.pace_bytes_per_second, b.in_flight_bytes);
}

/// A mechanism that a row leaves out.
using Stripped = std::function<void(model::Profile&, topology::MachineSpec&)>;

/// By the kernel that the model chooses, and by the one that ran.
class ProductBesideRow final : public ErrorTableRow {
 public:
  explicit ProductBesideRow(bool kernel_known, std::string without = {}, Stripped strip = {},
                            BesideEffects effects = {})
      : kernel_known_(kernel_known),
        without_(std::move(without)),
        strip_(std::move(strip)),
        effects_(effects) {}

  ErrorClaim claim() const override {
    if (!without_.empty()) {
      ErrorClaim claim{.name = "GEMM beside traffic" + without_, .median = {}, .p95 = {}};
      claim.baseline = true;
      return claim;
    }
    if (!kernel_known_) return {.name = "GEMM beside traffic", .median = 0.03, .p95 = 0.08};
    return {.name = "GEMM beside traffic, kernel known", .median = {}, .p95 = {}};
  }
  bool takes(const Observation& seen) const override {
    return !seen.published && is_beside_traffic(seen.what());
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<Point> points;
    if (knowledge.machine == nullptr) return points;
    const int boost = highest_clock(knowledge.samples);
    model::Profile profile = knowledge.profile;
    topology::MachineSpec machine = *knowledge.machine;
    if (strip_) strip_(profile, machine);
    const auto benches = beside_benches(machine, profile, knowledge.samples);
    for (const Observation& seen : asked) {
      const auto bench = benches.find(seen.run);
      const auto time =
          predict_beside(machine, profile, seen.what(), speed_permille(*seen.sample, boost),
                         bench == benches.end() ? BesideBench{} : bench->second,
                         kernel_known_ ? &seen.sample->kernel : nullptr, effects_);
      if (time) points.push_back({beside_label(seen.what()), *time, seen.time(), seen.held});
    }
    return points;
  }

 private:
  bool kernel_known_;
  std::string without_;
  Stripped strip_;
  BesideEffects effects_;
};

/// Posted writes hold back the products of both libraries alike: by the mean of the two.
void alike_for_libraries(model::Profile& profile, topology::MachineSpec&) {
  constexpr std::string_view ours = ", beside our products";
  for (model::InterferenceTerm& term : profile.interference) {
    if (!holds_back_loads(term.name) || !term.name.ends_with(ours)) continue;
    const std::string regime = term.name.substr(0, term.name.size() - ours.size());
    const auto other =
        std::find_if(profile.interference.begin(), profile.interference.end(),
                     [&](const auto& each) { return each.name == term_of(regime, "cublaslt"); });
    if (other == profile.interference.end()) continue;
    for (std::size_t i = 0; i < std::min(term.points.size(), other->points.size()); ++i) {
      double& one = term.points[i].slow_down.value;
      double& two = other->points[i].slow_down.value;
      one = two = (one + two) / 2;
    }
  }
}

/// Rates, as the time that a gibibyte takes.
class TrafficBesideRow final : public ErrorTableRow {
 public:
  ErrorClaim claim() const override {
    return {.name = "traffic over the host link beside GEMM", .median = 0.03, .p95 = 0.08};
  }
  bool takes(const Observation& seen) const override {
    return !seen.published && is_beside_traffic(seen.what()) &&
           !seen.sample->background_bytes_per_second.empty();
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    const Bytes moved = Bytes::from(std::int64_t{1} << 30);
    std::vector<Point> points;
    if (knowledge.machine == nullptr) return points;
    for (const Observation& seen : asked) {
      const auto product = predict_beside(*knowledge.machine, knowledge.profile, seen.what(), 1000,
                                          {}, &seen.sample->kernel);
      const std::int64_t free_sms = knowledge.profile.gpu.sms.value - seen.sample->kernel.grid;
      if (!product) continue;
      const auto rate =
          predict_traffic(knowledge.profile, *seen.what().background, *product, free_sms);
      std::vector<std::int64_t> rates = seen.sample->background_bytes_per_second;
      std::sort(rates.begin(), rates.end());
      const std::int64_t measured = rates[rates.size() / 2];
      if (!rate || measured <= 0) continue;
      points.push_back({beside_label(seen.what()), moved / *rate,
                        moved / Bandwidth::from_bytes_per_second(measured), seen.held});
    }
    return points;
  }
};

}  // namespace

void add_beside_rows(ErrorRows& rows) {
  rows.push_back(std::make_unique<ProductBesideRow>(false));
  rows.push_back(std::make_unique<ProductBesideRow>(true));
  rows.push_back(std::make_unique<ProductBesideRow>(
      true, ", kernel known, posted writes alike for both libraries", alike_for_libraries));
  rows.push_back(std::make_unique<ProductBesideRow>(
      true, ", kernel known, without placement by GPC",
      [](model::Profile& profile, topology::MachineSpec& machine) { one_gpc(profile, machine); }));
  rows.push_back(std::make_unique<ProductBesideRow>(
      true, ", kernel known, without what windows hold back",
      [](model::Profile& profile, topology::MachineSpec&) {
        std::erase_if(profile.interference, [](const auto& term) {
          return term.name.find(" of a window") != std::string::npos;
        });
      }));
  const std::pair<const char*, bool BesideEffects::*> effects[] = {
      {", kernel known, late CTAs held back as the others", &BesideEffects::late_apart},
      {", kernel known, traffic that comes second from where it finds room only",
       &BesideEffects::last_tile},
      {", kernel known, wherever traffic sits", &BesideEffects::among_products},
      {", kernel known, writes that leave the latency of loads alone",
       &BesideEffects::turns_of_loads},
      {", kernel known, each CTA placed by itself", &BesideEffects::clusters}};
  for (const auto& [name, effect] : effects) {
    BesideEffects without;
    without.*effect = false;
    rows.push_back(std::make_unique<ProductBesideRow>(true, name, Stripped{}, without));
  }
  rows.push_back(std::make_unique<TrafficBesideRow>());
}

}  // namespace weft::calibration
