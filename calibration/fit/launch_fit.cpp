// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/launch_fit.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/fit/microseconds.hpp"

namespace weft::calibration {

namespace {

/// The product is this much longer than the communication, or some of that may be exposed.
constexpr double longer = 1.3;
/// Fewer launches beside the communication say too little of one.
constexpr double least_launches = 3;
/// Fewer cells say nothing.
constexpr std::size_t least_cells = 8;

/// Measured figures of one cell, in microseconds.
struct Cell {
  const Case* what = nullptr;
  std::map<std::string, double> figures;

  [[nodiscard]] std::optional<double> figure(const std::string& name) const {
    const auto found = figures.find(name);
    return found == figures.end() ? std::nullopt : std::optional(found->second);
  }
  /// What the run takes longer than its own product.
  [[nodiscard]] std::optional<double> beyond() const {
    const auto run = figure("D"), product = figure("A_s");
    return run && product ? std::optional(*run - *product) : std::nullopt;
  }
};

std::string product_of(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {}", what.library, s.m, s.n, s.k);
}

std::string cell_of(const Case& what) {
  return fmt::format("{} {} {} {} {}", product_of(what), *what.ranks, *what.chunks, what.transport,
                     what.transport == "sm"
                         ? fmt::format("{} {}", what.margin.value_or(0), what.ctas.value_or(0))
                         : "");
}

double slow_down_by(const model::InterferenceTerm& term, std::int64_t ctas) {
  for (const model::InterferencePoint& point : term.points) {
    if (ctas <= point.ctas) return point.slow_down.value;
  }
  return term.points.empty() ? 1 : term.points.back().slow_down.value;
}

/// The delay of a launch by one cell of CTAs, if the cell shows one.
std::optional<double> delay_of(const Cell& by_ctas, const Cell& by_engine, double whole,
                               const model::InterferenceTerm& term) {
  const auto product = by_ctas.figure("A_s"), moved = by_ctas.figure("B_s");
  const auto beyond = by_ctas.beyond(), plain = by_engine.beyond();
  if (!product || !moved || !beyond || !plain || *product < longer * *moved) return std::nullopt;
  const Case& what = *by_ctas.what;
  const double own = whole / *what.ranks;
  const double chunk = (*product - own) / (*what.chunks * (*what.ranks - 1));
  if (chunk <= 0) return std::nullopt;
  const double launches = (*moved - own) / chunk;
  if (launches < least_launches) return std::nullopt;
  const double slowed = *moved * (1 - 1 / slow_down_by(term, what.ctas.value_or(0)));
  return (*beyond - *plain - slowed) / launches;
}

}  // namespace

model::Profile fit_launch_delay(model::Profile profile, const std::vector<Observation>& samples) {
  const auto below =
      std::find_if(profile.interference.begin(), profile.interference.end(), [](const auto& term) {
        return term.access == model::InterferingAccess::read && !term.full_link &&
               !term.between_devices;
      });
  if (below == profile.interference.end()) return profile;
  std::map<std::string, Cell> cells;
  std::map<std::string, double> products;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.pass || !what.shape || what.operation != "ag_gemm" ||
        what.backend != "host_link" || !what.ranks)
      continue;
    if (what.figure == "A") products[product_of(what)] = microseconds(seen.time());
    if (what.schedule != "chunked" || !what.chunks) continue;
    Cell& cell = cells[cell_of(what)];
    cell.what = &what;
    cell.figures[what.figure] = microseconds(seen.time());
  }
  std::vector<double> delays;
  for (const auto& [name, cell] : cells) {
    if (cell.what->transport != "sm") continue;
    Case engine = *cell.what;
    engine.transport = "copy_engine";
    const auto plain = cells.find(cell_of(engine));
    const auto whole = products.find(product_of(*cell.what));
    if (plain == cells.end() || whole == products.end()) continue;
    if (const auto delay = delay_of(cell, plain->second, whole->second, *below))
      delays.push_back(*delay);
  }
  if (delays.size() < least_cells) return profile;
  std::sort(delays.begin(), delays.end());
  const model::Sourced<Duration> delay{
      from_microseconds(std::max(0.0, delays[delays.size() / 2])),
      {model::SourceKind::fitted,
       fmt::format("{} gathers by CTAs over those by copy engine, a launch", delays.size())}};
  for (model::InterferenceTerm& term : profile.interference) {
    if (term.access && *term.access != model::InterferingAccess::engine_copy &&
        !term.between_devices)
      term.launch = delay;
  }
  return profile;
}

}  // namespace weft::calibration
