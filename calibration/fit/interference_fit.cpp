// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/interference_fit.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/predict/beside.hpp"

namespace weft::calibration {

namespace {

using SlowByCtas = std::map<int, std::vector<double>>;  ///< by CTAs

std::string product_beside(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {}", what.library, s.m, s.n, s.k, what.sms.value_or(0));
}

bool is_first_beside(const Observation& seen) {
  const Case& what = seen.what();
  return !seen.published && is_beside_traffic(what) && what.background->order == "traffic_first" &&
         what.background->ctas > 0;
}

/// Products beside CTAs that spin, by product and CTAs.
std::map<std::pair<std::string, int>, Duration> spinning(const std::vector<Observation>& samples) {
  std::map<std::pair<std::string, int>, Duration> times;
  for (const Observation& seen : samples) {
    if (is_first_beside(seen) && seen.what().background->kind == "spin")
      times[{product_beside(seen.what()), seen.what().background->ctas}] = seen.time();
  }
  return times;
}

double middle_ratio(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct RegimeWords {
  std::string words;
  std::optional<model::InterferingAccess> access;  ///< set: the engine runs it
  bool full_link = true;
};

RegimeWords described(const std::string& name) {
  using Access = model::InterferingAccess;
  if (name == "posted writes behind a full link")
    return {"CTAs write to host memory, unpaced, and the link is full", Access::posted_write};
  if (name == "reads of a full link")
    return {"CTAs read host memory, unpaced, and the link is full", Access::read};
  if (name == "posted writes below the link's rate")
    return {"CTAs write to host memory at a pace; by CTAs with 64 KiB in flight each",
            Access::posted_write, false};
  return {"CTAs read host memory at a pace; by CTAs with 64 KiB in flight each", Access::read,
          false};
}

}  // namespace

model::Profile fit_interference(model::Profile profile, const std::vector<Observation>& samples) {
  const auto alone = spinning(samples);
  std::map<std::string, SlowByCtas> regimes;
  for (const Observation& seen : samples) {
    if (!is_first_beside(seen)) continue;
    const Background& background = *seen.what().background;
    const auto regime = regime_of(background);
    const auto base = alone.find({product_beside(seen.what()), background.ctas});
    // Terms are by CTAs that have all in flight that they can; the highest pace below the link's rate stands for all.
    if (!regime || base == alone.end() || background.in_flight_bytes > 0) continue;
    regimes[*regime][background.ctas].push_back(ratio(seen.time(), base->second));
  }
  for (const auto& [name, slow] : regimes) {
    const RegimeWords regime = described(name);
    model::InterferenceTerm term;
    term.name = name;
    term.regime = regime.words;
    term.access = regime.access;
    term.full_link = regime.full_link;
    double before = 1;
    for (const auto& [ctas, ratios] : slow) {
      // More CTAs of one kind never help.
      before = std::max(before, middle_ratio(ratios));
      const model::Source source{
          model::SourceKind::fitted,
          fmt::format("{} products beside {} CTAs over those beside as many that spin",
                      ratios.size(), ctas)};
      term.points.push_back({ctas, {before, source}});
    }
    if (term.points.empty()) continue;
    term.slow_down = term.points.back().slow_down;
    const auto old =
        std::find_if(profile.interference.begin(), profile.interference.end(),
                     [&](const model::InterferenceTerm& each) { return each.name == term.name; });
    if (old == profile.interference.end()) {
      profile.interference.push_back(std::move(term));
    } else {
      *old = std::move(term);
    }
  }
  return profile;
}

}  // namespace weft::calibration
