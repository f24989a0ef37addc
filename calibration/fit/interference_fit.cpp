// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/interference_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/fit/product_sample.hpp"
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
  if (name.starts_with("posted writes"))
    return {"CTAs write to host memory at a pace; by CTAs with 64 KiB in flight each",
            Access::posted_write, false};
  if (name.starts_with("reads"))
    return {"CTAs read host memory at a pace; by CTAs with 64 KiB in flight each", Access::read,
            false};
  return {"CTAs or a copy engine move bytes inside the device's memory", {}};
}

/// The term that the engine runs for a regime, of all paces below the link's rate.
std::string engine_term(const std::string& regime) {
  for (const std::string below : {"posted writes", "reads"})
    if (regime == below + " close below the link's rate") return below + " below the link's rate";
  return regime;
}

/// How much slower a product's loads must be for it to take `with` in place of `without`.
double slow_down_of_loads(Duration with, Duration without, Duration loads) {
  const double t = static_cast<double>(with.ps()), s = static_cast<double>(without.ps());
  const double l = static_cast<double>(loads.ps());
  return std::sqrt(1 + std::max(0.0, t * t - s * s) / (l * l));
}

model::InterferenceTerm term_of_ratios(const std::string& name, const RegimeWords& regime,
                                       const SlowByCtas& slow, bool of_loads) {
  model::InterferenceTerm term;
  term.name = name;
  term.regime = regime.words + (of_loads ? "; of the rate at which tiles load" : "");
  term.access = regime.access;
  term.full_link = regime.full_link;
  double before = 1;
  for (const auto& [ctas, ratios] : slow) {
    // More CTAs of one kind never help.
    before = std::max(before, middle_ratio(ratios));
    const model::Source source{
        model::SourceKind::fitted,
        fmt::format("{} products beside {} CTAs over those beside as many that spin", ratios.size(),
                    ctas)};
    term.slow_down = {before, source};
    if (ctas > 0) term.points.push_back({ctas, term.slow_down});
  }
  return term;
}

void replace(model::Profile& profile, model::InterferenceTerm term) {
  const auto old =
      std::find_if(profile.interference.begin(), profile.interference.end(),
                   [&](const model::InterferenceTerm& each) { return each.name == term.name; });
  if (old == profile.interference.end()) {
    profile.interference.push_back(std::move(term));
  } else {
    *old = std::move(term);
  }
}

}  // namespace

model::Profile fit_interference(model::Profile profile, const std::vector<Observation>& samples) {
  const auto beside_spinning = spinning(samples);
  // Of all products, for what the engine runs; and of each library's, by what holds its kernels back.
  std::map<std::string, SlowByCtas> regimes;
  std::map<std::string, std::int64_t> slowest;  // paces, by regime
  std::map<std::pair<std::string, std::string>, SlowByCtas> of_library;
  for (const Observation& seen : samples) {
    if (!is_first_beside(seen)) continue;
    const Case& what = seen.what();
    const Background& background = *what.background;
    const auto regime = regime_of(background, profile);
    const auto base = beside_spinning.find({product_beside(what), background.ctas});
    // Terms are by CTAs that have all in flight that they can.
    if (!regime || base == beside_spinning.end() || background.in_flight_bytes > 0) continue;
    const double slow = ratio(seen.time(), base->second);
    if (background.pace_bytes_per_second > 0) {
      for (const std::string& name : {engine_term(*regime), *regime}) {
        const auto [at, fresh] = slowest.try_emplace(name, background.pace_bytes_per_second);
        if (!fresh) at->second = std::min(at->second, background.pace_bytes_per_second);
      }
    }
    if (described(*regime).access) regimes[engine_term(*regime)][background.ctas].push_back(slow);
    const bool known =
        seen.sample->kernel.tile.size() == 3 && seen.sample->kernel.cluster.size() == 2;
    if (!holds_back_loads(*regime)) {
      of_library[{*regime, what.library}][background.ctas].push_back(slow);
    } else if (known) {
      of_library[{*regime, what.library}][background.ctas].push_back(
          slow_down_of_loads(seen.time(), base->second,
                             time_of_loads(profile, *what.shape, kernel_of(seen.sample->kernel))));
    }
  }
  const auto with_pace = [&](model::InterferenceTerm term, const std::string& regime) {
    if (const auto pace = slowest.find(regime); pace != slowest.end()) {
      term.pace = {Bandwidth::from_bytes_per_second(pace->second),
                   {model::SourceKind::measured, "the slowest pace of its samples"}};
    }
    return term;
  };
  for (const auto& [name, slow] : regimes)
    replace(profile, with_pace(term_of_ratios(name, described(name), slow, false), name));
  for (const auto& [key, slow] : of_library) {
    RegimeWords words = described(key.first);
    words.access.reset();
    words.full_link = true;
    replace(profile, with_pace(term_of_ratios(term_of(key.first, key.second), words, slow,
                                              holds_back_loads(key.first)),
                               key.first));
  }
  return profile;
}

}  // namespace weft::calibration
