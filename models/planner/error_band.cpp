// SPDX-License-Identifier: Apache-2.0
#include "models/planner/error_band.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/profile/families.hpp"
#include "models/profile/names.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/format.hpp"

namespace weft::model {

namespace {

/// The library's products of weights that were never measured, by our samples or by another's table.
constexpr std::string_view product_families[] = {families::new_library_products,
                                                 families::library_products};

/// Adds the items of one list to another's, each once; names have commas.
void join(std::string& list, std::string_view more) {
  constexpr std::string_view between = "; ";
  while (!more.empty()) {
    const std::string_view item = more.substr(0, more.find(between));
    more.remove_prefix(std::min(more.size(), item.size() + between.size()));
    const std::string known = fmt::format("{0}{1}{0}", between, list);
    if (known.find(fmt::format("{0}{1}{0}", between, item)) != std::string::npos) continue;
    if (!list.empty()) list += between;
    list += item;
  }
}

ErrorBand band_from(const FamilyError& error) {
  ErrorBand band{error.low, error.high, error.family, error.source};
  // Of which no interval was made: the error is predicted over measured, and 95 in 100 keep to this size of it.
  if (band.low == band.high) {
    if (error.p95 <= 0 || error.p95 >= 1) return {};
    band.low = 1 / (1 + error.p95);
    band.high = 1 / (1 - error.p95);
  }
  return band;
}

/// What all families so far span, and what is unlike their rows.
class Span {
 public:
  explicit Span(std::vector<std::string> unlike) : unlike_(std::move(unlike)) {}

  [[nodiscard]] bool empty() const { return !band_.known(); }
  void unlike(std::string what) { unlike_.push_back(std::move(what)); }

  void add(const FamilyError& error, std::int64_t ranks, const std::string& operation,
           const std::string& transport) {
    const ErrorBand band = band_from(error);
    if (!band.known()) return;
    band_ = empty() ? band : span_of({band_, band});
    if (error.ranks && ranks > *error.ranks)
      unlike(fmt::format("no more than {} ranks were measured of {}", *error.ranks, error.family));
    const auto lacks = [](const std::vector<std::string>& rows, const std::string& what) {
      return !rows.empty() && !what.empty() &&
             std::find(rows.begin(), rows.end(), what) == rows.end();
    };
    if (lacks(error.operations, operation)) unlike(fmt::format("no {} was measured", operation));
    if (lacks(error.transports, transport))
      unlike(fmt::format("no transport by {} was measured", transport));
  }

  [[nodiscard]] ErrorBand result() const {
    ErrorBand band = band_;
    std::string all;
    for (const std::string& each : unlike_) join(all, each);
    if (!band.known())
      band.source = {SourceKind::assumed,
                     "the profile was not tested on rows of this kind that its fit did not see"};
    else if (!all.empty())
      band.source = {SourceKind::assumed, all};
    return band;
  }

 private:
  ErrorBand band_;
  std::vector<std::string> unlike_;
};

/// As samples name what is fused; empty where nothing is.
std::string operation_of(const Boundary& boundary) {
  const std::optional<FusedPair> pair = fused_pair(boundary);
  if (!pair) return "";
  switch (boundary.collectives[pair->collective].op) {
    case CollectiveOp::all_gather:
      return pair->gathers ? "ag_gemm" : "gemm_ag";
    case CollectiveOp::reduce_scatter:
      return "gemm_rs";
    case CollectiveOp::all_reduce:
      return "gemm_ar";
    default:
      return pair->gathers ? "a2a_gemm" : "gemm_a2a";
  }
}

std::string transport_of(const Knobs& knobs) {
  for (const auto& [name, value] : knobs.values()) {
    if (name != "transport") continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
  }
  return "";
}

const MatmulWork* first_product(const Boundary& boundary) {
  for (const Operator& op : boundary.operators) {
    if (const MatmulWork* work = matmul_of(op)) return work;
  }
  return nullptr;
}

/// The family of a schedule, with the library behind its name where families tell libraries apart.
void add_schedule(Span& span, const Boundary& boundary, const std::string& family,
                  const ScheduleChoice& pick, const Site& site) {
  const std::string with_library =
      families::by_kernels(family, site.products == GemmLibrary::ours ? families::our_kernels
                                                                      : families::cublaslt_kernels);
  for (const FamilyError& error : site.profile.errors) {
    if (error.family == family || error.family == with_library)
      span.add(error, site.ranks(), operation_of(boundary), transport_of(pick.knobs));
  }
}

const FamilyError* family_of_products(const Profile& profile) {
  for (const std::string_view family : product_families)
    if (const FamilyError* found = profile.error_of(family)) return found;
  return nullptr;
}

const FamilyError* family_of_message(const Profile& profile, std::int64_t bytes) {
  for (const auto& of_one : {std::span<const families::OfMessages>(families::collectives),
                             std::span<const families::OfMessages>(families::table_collectives)}) {
    for (const families::OfMessages& each : of_one) {
      const FamilyError* found = each.has(bytes) ? profile.error_of(each.family) : nullptr;
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

/// Those of the library's kernels one after the other. A sum is off by no greater share than the worse of its parts.
void add_parts(Span& span, const Boundary& boundary, const Site& site) {
  const Profile& profile = site.profile;
  if (first_product(boundary) != nullptr) {
    if (const FamilyError* found = family_of_products(profile))
      span.add(*found, 1, "", "");
    else
      span.unlike("no product was measured");
  }
  for (const BoundaryCollective& each : boundary.collectives) {
    if (each.group < 2) continue;
    if (const FamilyError* found = family_of_message(profile, each.message.count()))
      span.add(*found, each.group, std::string(name_of(each.op)), "");
    else
      span.unlike(fmt::format("no collective of {} was measured", each.message));
  }
}

}  // namespace

ErrorBand band_of(const Boundary& boundary, const ScheduleChoice& pick, const Site& site,
                  std::vector<std::string> unlike) {
  const ScheduleInfo& info = pick.schedule->info();
  Span span(std::move(unlike));
  if (!info.measured_in.empty() && info.measured_in != unfused_rows)
    add_schedule(span, boundary, info.measured_in, pick, site);
  if (span.empty()) {
    add_parts(span, boundary, site);
    if (info.measured_in != unfused_rows)
      span.unlike(fmt::format("no run of {} was measured", info.name));
    else if (pick.knobs.values() != Knobs(info.knobs).values())
      span.unlike(fmt::format("no run of {} with these settings was measured", info.name));
    if (!span.empty() && pick.schedule->overlaps(boundary, pick.knobs, site)) {
      for (const Schedule* schedule : all_schedules()) {
        if (!schedule->info().measured_in.empty())
          add_schedule(span, boundary, schedule->info().measured_in, pick, site);
      }
    }
  }
  if (site.group.nodes > 1) span.unlike("no run across nodes was measured");
  const MatmulWork* work = first_product(boundary);
  if (work != nullptr && work->x.element != DType::bf16)
    span.unlike(fmt::format("no product of {} was measured", name_of(work->x.element)));
  return span.result();
}

std::vector<std::string> unlike_a_run(const Scenario& scenario) {
  std::vector<std::string> unlike;
  if (scenario.fidelity != sim::Fidelity::contended)
    unlike.emplace_back("effects of a run are left out");
  if (scenario.cost_model != CostModel::profile)
    unlike.push_back(fmt::format("collectives are priced by {}", name_of(scenario.cost_model)));
  if (!scenario.overrides.empty()) unlike.emplace_back("parts of the machine are overridden");
  return unlike;
}

ErrorBand layer_band(const Profile& profile, Phase phase, DType type,
                     std::vector<std::string> unlike) {
  Span span(std::move(unlike));
  if (const FamilyError* found = family_of_products(profile))
    span.add(*found, 1, "", "");
  else
    span.unlike("no product was measured");
  if (type != DType::bf16) span.unlike(fmt::format("no product of {} was measured", name_of(type)));
  const FamilyError* attention = profile.error_of(
      phase == Phase::decode ? families::decode_attention : families::prefill_attention);
  if (attention != nullptr) span.add(*attention, 1, "", "");
  if (attention == nullptr || phase == Phase::backward)
    span.unlike(fmt::format("no attention of {} was measured", name_of(phase)));
  return span.result();
}

ErrorBand span_of(const std::vector<ErrorBand>& bands) {
  ErrorBand span;
  std::string assumed;
  for (const ErrorBand& band : bands) {
    if (band.source.kind == SourceKind::assumed) join(assumed, band.source.reference);
    if (!band.known()) continue;
    if (!span.known() || band.fraction() > span.fraction()) span.source = band.source;
    span.low = span.known() ? std::min(span.low, band.low) : band.low;
    span.high = span.known() ? std::max(span.high, band.high) : band.high;
    join(span.family, band.family);
  }
  if (!assumed.empty()) span.source = {SourceKind::assumed, assumed};
  return span;
}

}  // namespace weft::model
