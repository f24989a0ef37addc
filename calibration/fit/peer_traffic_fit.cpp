// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/peer_traffic_fit.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace weft::calibration {

namespace {

/// Fewer products say nothing.
constexpr std::size_t least_ratios = 4;

bool is_of_peers(const Observation& seen) {
  const Case& what = seen.what();
  return !seen.published && what.operation == "gemm" && what.backend == "peer_gpus" && what.shape &&
         what.sms && !what.pass;
}

std::string traffic_product(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {}", what.library, s.m, s.n, s.k, what.sms.value_or(0));
}

/// Of traffic that comes first: what comes second finds no room of its own beside a product on all SMs.
bool is_traffic(const Background& background, const char* kind) {
  return background.kind == kind && background.order == "traffic_first" &&
         background.pace_bytes_per_second == 0 && background.in_flight_bytes == 0;
}

/// By CTAs of the traffic; 0: a copy engine.
using Ratios = std::map<int, std::vector<double>>;

Ratios by_engine(const std::vector<Observation>& samples) {
  std::map<std::string, Duration> alone;
  for (const Observation& seen : samples) {
    if (is_of_peers(seen) && seen.what().figure == "alone")
      alone[traffic_product(seen.what())] = seen.time();
  }
  Ratios ratios;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!is_of_peers(seen) || what.figure != "beside" || !what.background) continue;
    if (!is_traffic(*what.background, "copy_engine") || what.background->direction == "device")
      continue;
    const auto base = alone.find(traffic_product(what));
    if (base != alone.end()) ratios[0].push_back(ratio(seen.time(), base->second));
  }
  return ratios;
}

Ratios by_ctas(const std::vector<Observation>& samples) {
  std::map<std::pair<std::string, int>, Duration> spinning;
  const auto each = [&](const char* kind, const auto& visit) {
    for (const Observation& seen : samples) {
      const Case& what = seen.what();
      if (is_of_peers(seen) && what.figure == "beside" && what.background &&
          is_traffic(*what.background, kind))
        visit(seen, std::pair(traffic_product(what), what.background->ctas));
    }
  };
  each("spin", [&](const Observation& seen, const auto& name) { spinning[name] = seen.time(); });
  Ratios ratios;
  each("copy", [&](const Observation& seen, const auto& name) {
    const auto base = spinning.find(name);
    if (seen.what().background->direction == "to_device" && base != spinning.end())
      ratios[name.second].push_back(ratio(seen.time(), base->second));
  });
  return ratios;
}

void add_term(const std::string& name, const std::string& regime, model::InterferingAccess access,
              const Ratios& measured, model::Profile& profile) {
  model::InterferenceTerm term;
  term.name = name;
  term.regime = regime;
  term.access = access;
  term.full_link = false;
  term.between_devices = true;
  double least = 1;
  for (auto [ctas, ratios] : measured) {
    if (ratios.size() < least_ratios) continue;
    std::sort(ratios.begin(), ratios.end());
    // More of the same traffic holds back no less.
    least = std::max(least, ratios[ratios.size() / 2]);
    term.slow_down = {least,
                      {model::SourceKind::fitted,
                       fmt::format("{} products beside traffic between devices, over those "
                                   "without",
                                   ratios.size())}};
    term.points.push_back({std::max(1, ctas), term.slow_down});
  }
  if (term.points.empty()) return;
  std::erase_if(profile.interference, [&](const auto& each) { return each.name == name; });
  profile.interference.push_back(std::move(term));
}

}  // namespace

model::Profile fit_traffic_of_peers(model::Profile profile,
                                    const std::vector<Observation>& samples) {
  add_term("copies by engine between devices", "a copy engine moves bytes from or to a peer",
           model::InterferingAccess::engine_copy, by_engine(samples), profile);
  add_term("reads of peers", "CTAs load from the memory of a peer", model::InterferingAccess::read,
           by_ctas(samples), profile);
  return profile;
}

}  // namespace weft::calibration
