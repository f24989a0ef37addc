// SPDX-License-Identifier: Apache-2.0
#include "models/export/te_choice.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

constexpr std::string_view kTransformerEngine = "te.";
constexpr std::string_view kAtomic = "te.atomic_gemm";
constexpr std::string_view kBackward = ".backward";

constexpr std::string_view kLayersOfProducts[] = {"qkv", "proj", "fc1", "fc2"};

constexpr std::pair<std::string_view, std::optional<std::int64_t> UbGemm::*> kCounts[] = {
    {"num_sm", &UbGemm::num_sm},
    {"cga_size", &UbGemm::cga_size},
    {"num_splits", &UbGemm::num_splits}};

constexpr std::pair<std::string_view, std::optional<bool> UbGemm::*> kSwitches[] = {
    {"set_sm_margin", &UbGemm::set_sm_margin},
    {"aggregate", &UbGemm::aggregate},
    {"atomic_gemm", &UbGemm::atomic_gemm},
    {"use_ce", &UbGemm::use_ce},
    {"fp8_buf", &UbGemm::fp8_buf}};

std::optional<UbMethod> method_named(std::string_view name) {
  for (const UbMethod each :
       {UbMethod::ring_exchange, UbMethod::pipeline, UbMethod::bulk, UbMethod::external}) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

/// Puts a knob's value into the setting of its system name.
void set(UbGemm& gemm, std::string_view setting, const KnobValue& value) {
  const std::int64_t* count = std::get_if<std::int64_t>(&value);
  if (count == nullptr) return;
  for (const auto& [name, member] : kCounts) {
    if (name == setting) gemm.*member = *count;
  }
  for (const auto& [name, member] : kSwitches) {
    if (name == setting) gemm.*member = *count != 0;
  }
}

}  // namespace

std::vector<std::string> ub_products(std::string_view boundary) {
  const bool backward = boundary.ends_with(kBackward);
  if (backward) boundary.remove_suffix(kBackward.size());
  if (std::find(std::begin(kLayersOfProducts), std::end(kLayersOfProducts), boundary) ==
      std::end(kLayersOfProducts)) {
    return {};
  }
  if (!backward) return {fmt::format("{}_fprop", boundary)};
  return {fmt::format("{}_dgrad", boundary), fmt::format("{}_wgrad", boundary)};
}

std::optional<UbGemm> ub_gemm_of(std::string_view product, const ScheduleInfo& schedule,
                                 const Knobs& knobs) {
  if (!schedule.name.starts_with(kTransformerEngine)) return std::nullopt;
  UbGemm gemm;
  gemm.name = product;
  if (schedule.name == kAtomic) {
    gemm.method = UbMethod::ring_exchange;
    gemm.atomic_gemm = true;
  } else {
    const auto method =
        method_named(std::string_view(schedule.name).substr(kTransformerEngine.size()));
    if (!method) return std::nullopt;
    gemm.method = *method;
  }
  for (const KnobSpec& spec : schedule.knobs) {
    const auto& values = knobs.values();
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == spec.name; });
    if (found != values.end()) set(gemm, spec.system_name, found->second);
  }
  if (!faults_of(gemm).empty()) return std::nullopt;  // legal here, not there
  return gemm;
}

std::vector<UbGemm> ub_gemms_of(std::string_view boundary, const ScheduleInfo& schedule,
                                const Knobs& knobs) {
  const std::vector<std::string> products = ub_products(boundary);
  if (products.empty()) return {};
  std::vector<UbGemm> gemms;
  if (schedule.name == "te.external") {
    // The dgrad's ring exchange, on which the wgrad rides untold.
    const Schedule* ring = find_schedule("te.ring_exchange");
    WEFT_CHECK(ring != nullptr, "te.external without te.ring_exchange");
    if (auto gemm = ub_gemm_of(products.front(), ring->info(), knobs)) gemms.push_back(*gemm);
    return gemms;
  }
  const bool every = schedule.name == "te.bulk";
  for (std::size_t i = 0; i < (every ? products.size() : 1); ++i) {
    auto gemm = ub_gemm_of(products[i], schedule, knobs);
    if (!gemm) return {};
    gemms.push_back(std::move(*gemm));
  }
  return gemms;
}

UbChoice choice_of(const UbGemm& gemm) {
  const std::string name = gemm.atomic_gemm.value_or(false)
                               ? std::string(kAtomic)
                               : fmt::format("te.{}", name_of(gemm.method));
  UbChoice result;
  result.choice.schedule = find_schedule(name);
  WEFT_CHECK(result.choice.schedule != nullptr, "there is no schedule {}", name);
  const std::vector<KnobSpec>& specs = result.choice.schedule->info().knobs;
  result.choice.knobs = Knobs(specs);
  const auto take = [&](std::string_view setting, std::int64_t value) {
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const KnobSpec& each) {
      return each.system_name == setting;
    });
    if (spec != specs.end()) {
      result.choice.knobs.set(spec->name, value);
    } else if (setting != "atomic_gemm") {
      result.idle.push_back(fmt::format("{}={}", setting, value));
    }
  };
  for (const auto& [setting, member] : kCounts) {
    if (gemm.*member) take(setting, *(gemm.*member));
  }
  for (const auto& [setting, member] : kSwitches) {
    if (gemm.*member) take(setting, *(gemm.*member) ? 1 : 0);
  }
  return result;
}

UbGemm ub_default(std::string_view product) {
  const UbSite* site = ub_site(product);
  WEFT_CHECK(site != nullptr, "there is no product {}", product);
  UbGemm gemm;
  gemm.name = product;
  gemm.method = site->method;
  return gemm;
}

}  // namespace weft::model
