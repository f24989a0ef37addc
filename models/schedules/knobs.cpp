// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/knobs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/check.hpp"
#include "sim/units/nearest.hpp"

namespace weft::model {

std::string to_text(const KnobValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return std::to_string(*count);
  return std::get<std::string>(value);
}

Knobs::Knobs(const std::vector<KnobSpec>& specs) {
  for (const KnobSpec& spec : specs) values_.emplace_back(spec.name, spec.default_value);
}

namespace {

const KnobValue* find(const std::vector<std::pair<std::string, KnobValue>>& values,
                      std::string_view name) {
  for (const auto& [known, value] : values) {
    if (known == name) return &value;
  }
  return nullptr;
}

}  // namespace

std::int64_t Knobs::count(std::string_view name) const {
  const KnobValue* value = find(values_, name);
  WEFT_CHECK(value != nullptr, "the schedule has no knob \"{}\"", name);
  WEFT_CHECK(std::holds_alternative<std::int64_t>(*value), "knob \"{}\" is no count", name);
  return std::get<std::int64_t>(*value);
}

const std::string& Knobs::text(std::string_view name) const {
  const KnobValue* value = find(values_, name);
  WEFT_CHECK(value != nullptr, "the schedule has no knob \"{}\"", name);
  WEFT_CHECK(std::holds_alternative<std::string>(*value), "knob \"{}\" is no name", name);
  return std::get<std::string>(*value);
}

bool Knobs::has(std::string_view name) const {
  return find(values_, name) != nullptr;
}

void Knobs::set(std::string_view name, KnobValue value) {
  for (auto& [known, old] : values_) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  values_.emplace_back(name, std::move(value));
}

std::string Knobs::to_text() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, model::to_text(value));
  }
  return text;
}

std::vector<std::string> faults_of(const Knobs& knobs, const std::vector<KnobSpec>& specs) {
  std::vector<std::string> faults;
  for (const auto& [name, value] : knobs.values()) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(),
                     [&name = name](const KnobSpec& each) { return each.name == name; });
    if (spec == specs.end()) {
      std::vector<std::string_view> names;
      for (const KnobSpec& each : specs) names.push_back(each.name);
      const auto nearest = nearest_name(name, names);
      faults.push_back(
          nearest
              ? fmt::format("there is no knob \"{}\" (did you mean \"{}\"?)", name, *nearest)
              : fmt::format("there is no knob \"{}\" (knobs: {})", name,
                            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
      continue;
    }
    // An open knob takes any value of its kind that the schedule's rules take.
    if (!spec->open.empty() && value.index() == spec->default_value.index()) continue;
    if (std::find(spec->values.begin(), spec->values.end(), value) == spec->values.end()) {
      std::vector<std::string> legal;
      for (const KnobValue& each : spec->values) legal.push_back(to_text(each));
      faults.push_back(fmt::format("knob \"{}\" cannot be {} (legal: {})", name, to_text(value),
                                   fmt::join(legal, ", ")));
    }
  }
  return faults;
}

std::vector<Knobs> all_combinations(const std::vector<KnobSpec>& specs, const Knobs& fixed) {
  std::vector<Knobs> combinations = {Knobs()};
  for (const KnobSpec& spec : specs) {
    const KnobValue* pinned = find(fixed.values(), spec.name);
    const std::vector<KnobValue> values =
        pinned != nullptr ? std::vector<KnobValue>{*pinned} : spec.values;
    std::vector<Knobs> longer;
    longer.reserve(combinations.size() * values.size());
    for (const Knobs& knobs : combinations) {
      for (const KnobValue& value : values) {
        longer.push_back(knobs);
        longer.back().set(spec.name, value);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

}  // namespace weft::model
