// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/interference_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
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

bool is_beside_ctas(const Observation& seen) {
  return !seen.published && is_beside_traffic(seen.what()) && seen.what().background->ctas > 0;
}

/// Products alone, and beside CTAs that spin by order and number.
struct Undisturbed {
  std::map<std::string, Duration> alone;
  std::map<std::tuple<std::string, std::string, int>, Duration> spinning;
};

Undisturbed undisturbed(const std::vector<Observation>& samples) {
  Undisturbed times;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (is_beside_ctas(seen) && what.background->kind == "spin") {
      times.spinning[{product_beside(what), what.background->order, what.background->ctas}] =
          seen.time();
    } else if (!seen.published && what.operation == "gemm" && what.figure == "alone" &&
               what.backend == "host_link" && what.shape) {
      times.alone[product_beside(what)] = seen.time();
    }
  }
  return times;
}

/// What of a product's time beside spinning CTAs is of those of its own that find room at first, and of late ones.
struct Parts {
  double first = 0, late = 0;
};

Parts parts_of(Duration so, const Case& what, const Undisturbed& times) {
  const double whole = static_cast<double>(so.ps());
  const auto alone = times.alone.find(product_beside(what));
  // The library's late CTAs take tiles from a counter, as all do.
  if (what.library != "weft" || alone == times.alone.end()) return {whole, 0};
  const double first = std::min(whole, static_cast<double>(alone->second.ps()));
  return {first, whole - first};
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
  if (name.starts_with("writes"))
    return {"CTAs write to host memory and wait for it, each with a window in flight", {}};
  if (name.starts_with("reads of a window"))
    return {"CTAs read host memory, each with a window in flight", {}};
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

/// How much longer turns must be for a product to take `with`; none where the kernel is not known.
std::optional<double> slow_down_of_turns(const model::Profile& profile, const Observation& seen,
                                         const Parts& parts, const Undisturbed& times) {
  const Case& what = seen.what();
  const Kernel& ran = seen.sample->kernel;
  if (!profile.gemm || ran.tile.size() != 3 || ran.cluster.size() != 2) return std::nullopt;
  const Shape& s = *what.shape;
  const model::GemmProblem problem{
      .m = s.m,
      .n = s.n,
      .k = s.k,
      .library = what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt};
  const model::GemmCost cost = model::gemm_cost(profile, problem, model::SmBudget::of(ran.grid),
                                                kernel_of(ran), std::max(1, ran.split_k));
  double turns = static_cast<double>(time_of_turns(profile, cost).ps());
  const auto alone = times.alone.find(product_beside(what));
  if (alone != times.alone.end())
    turns *= std::max(1.0, parts.first / static_cast<double>(alone->second.ps()));
  if (turns <= 0) return std::nullopt;
  const double with = static_cast<double>(seen.time().ps());
  return 1 + std::max(0.0, with - parts.first - parts.late) / turns;
}

model::InterferenceTerm term_of_ratios(const std::string& name, const RegimeWords& regime,
                                       const SlowByCtas& slow, bool of_loads) {
  model::InterferenceTerm term;
  term.name = name;
  term.regime = regime.words + (of_loads ? "; of the latency of what tiles load" : "");
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
  const Undisturbed times = undisturbed(samples);
  // Of all products, for what the engine runs; and of each library's, by what holds its kernels back.
  std::map<std::string, SlowByCtas> regimes;
  std::map<std::string, std::int64_t> slowest;  // paces, by regime
  std::map<std::tuple<std::string, std::string, bool>, SlowByCtas> of_library;
  for (const Observation& seen : samples) {
    if (!is_beside_ctas(seen)) continue;
    const Case& what = seen.what();
    const Background& background = *what.background;
    const auto regime = regime_of(background, profile);
    const auto base =
        times.spinning.find({product_beside(what), background.order, background.ctas});
    if (!regime || base == times.spinning.end()) continue;
    const bool second = background.order == "gemm_first";
    const Kernel& ran = seen.sample->kernel;
    if (second) {
      // Of traffic that comes second, where all of it finds room, and among the product's SMs only.
      const bool known = ran.cluster.size() == 2;
      if (!known || !is_among_products(background, std::int64_t{ran.cluster[0]} * ran.cluster[1]) ||
          background.ctas > profile.gpu.sms.value - ran.grid || background.in_flight_bytes > 0 ||
          !described(*regime).access)
        continue;
    }
    const double slow = ratio(seen.time(), base->second);
    // Terms are by CTAs that have all in flight that they can.
    const auto ctas = static_cast<int>(std::lround(background.ctas * in_flight_share(background)));
    if (ctas == 0) continue;
    if (background.pace_bytes_per_second > 0) {
      for (const std::string& name : {engine_term(*regime), *regime}) {
        const auto [at, fresh] = slowest.try_emplace(name, background.pace_bytes_per_second);
        if (!fresh) at->second = std::min(at->second, background.pace_bytes_per_second);
      }
    }
    if (described(*regime).access && !second) regimes[engine_term(*regime)][ctas].push_back(slow);
    const Parts parts = parts_of(base->second, what, times);
    const auto own =
        holds_back_loads(*regime)
            ? slow_down_of_turns(profile, seen, parts, times)
            : std::optional((static_cast<double>(seen.time().ps()) - parts.late) / parts.first);
    if (own) of_library[{*regime, what.library, second}][ctas].push_back(*own);
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
    const auto& [regime, library, among] = key;
    RegimeWords words = described(regime);
    words.access.reset();
    words.full_link = true;
    replace(profile, with_pace(term_of_ratios(term_of(regime, library, among), words, slow,
                                              holds_back_loads(regime)),
                               regime));
  }
  return profile;
}

}  // namespace weft::calibration
