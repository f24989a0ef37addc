// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/copies_fit.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace weft::calibration {

namespace {

constexpr const char* term_name = "copies by engine";
/// Fewer products say nothing.
constexpr std::size_t least_pairs = 5;

std::string bench_product(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {}", what.library, s.m, s.n, s.k, what.sms.value_or(0));
}

/// A kernel behind another posts a flag, beside copies both ways and beside none: the fence for the whole system is its
/// only round trip.
std::optional<Duration> round_trip_beside_copies(const std::vector<Observation>& samples) {
  std::optional<Duration> beside, alone;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (what.suite != "waits" || what.operation != "stream_wait" || what.transport != "sm")
      continue;
    if (what.variant == "none") alone = seen.time();
    if (what.variant == "none_beside_both") beside = seen.time();
  }
  if (!beside || !alone || *beside <= *alone) return std::nullopt;
  return *beside - *alone;
}

bool is_bench_product(const Observation& seen, const char* figure) {
  const Case& what = seen.what();
  return !seen.published && what.operation == "gemm" && what.figure == figure &&
         what.backend == "host_link" && what.shape && what.sms;
}

}  // namespace

model::Profile fit_copies_beside(model::Profile profile, const std::vector<Observation>& samples) {
  std::map<std::string, Duration> alone;
  for (const Observation& seen : samples) {
    if (is_bench_product(seen, "alone")) alone[bench_product(seen.what())] = seen.time();
  }
  std::vector<double> ratios;
  for (const Observation& seen : samples) {
    if (!is_bench_product(seen, "beside") || !seen.what().background) continue;
    const Background& background = *seen.what().background;
    const auto base = alone.find(bench_product(seen.what()));
    if (background.kind != "copy_engine" || background.direction == "device" || base == alone.end())
      continue;
    ratios.push_back(ratio(seen.time(), base->second));
  }
  if (ratios.size() < least_pairs) return profile;
  std::sort(ratios.begin(), ratios.end());
  const model::Sourced<double> slow{
      std::max(1.0, ratios[ratios.size() / 2]),
      {model::SourceKind::fitted,
       fmt::format("{} products beside copies over those alone", ratios.size())}};
  // No product was measured beside two copies: they are taken to cost it twice what one does.
  const model::Sourced<double> both{
      2 * slow.value - 1, {model::SourceKind::assumed, "twice what one copy costs a product"}};
  model::InterferenceTerm term;
  term.name = term_name;
  term.regime = "a copy engine moves bytes from or to host memory";
  term.slow_down = both;
  term.access = model::InterferingAccess::engine_copy;
  term.full_link = false;
  term.points = {{1, slow}, {2, both}};
  if (const auto trip = round_trip_beside_copies(samples))
    term.round_trip = {
        *trip, {model::SourceKind::measured, "posts of a kernel beside copies, over alone"}};
  std::erase_if(profile.interference, [](const auto& each) { return each.name == term_name; });
  profile.interference.push_back(std::move(term));
  return profile;
}

}  // namespace weft::calibration
