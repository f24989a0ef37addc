// SPDX-License-Identifier: Apache-2.0
#include "models/planner/error_band.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "models/schedules/registry.hpp"

namespace weft::model {

namespace {

/// Products as the library chooses them for weights that were never measured, by our samples or by another's table,
/// and its collectives likewise. A sum is off by no greater share than the worse of its parts.
constexpr std::string_view kUnfusedFamilies[] = {
    "GEMM, cuBLASLt, N and K never measured", "library GEMM bf16",
    "NCCL on NVLink, 2..8 GPUs, >= 64 KiB", "collectives from 1 MiB"};

ErrorBand band_from(const FamilyError& error) {
  ErrorBand band{error.low, error.high, error.family, error.source};
  // A table of which no interval was made has the size that 95 in 100 errors keep to.
  if (band.low == band.high) band.low = std::max(0.0, 1 - error.p95), band.high = 1 + error.p95;
  return band;
}

struct Found {
  ErrorBand band;
  std::optional<std::int64_t> ranks;
};

void widen(Found& found, const FamilyError& error) {
  const ErrorBand band = band_from(error);
  if (!found.band.known() || band.fraction() > found.band.fraction())
    found = {band, error.ranks ? error.ranks : found.ranks};
}

/// Of the families whose name is `name`, with the library behind it where they tell libraries apart.
void widen_by(Found& found, const Profile& profile, const std::string& name, GemmLibrary library) {
  const std::string with_library =
      fmt::format("{}, {}", name, library == GemmLibrary::ours ? "our kernels" : "cuBLASLt");
  for (const FamilyError& error : profile.errors) {
    if (error.family == name || error.family == with_library) widen(found, error);
  }
}

DType type_of_products(const Boundary& boundary) {
  for (const Operator& op : boundary.operators) {
    if (const MatmulWork* work = matmul_of(op)) return work->x.element;
  }
  return DType::bf16;
}

}  // namespace

ErrorBand band_of(const Boundary& boundary, const ScheduleChoice& pick, const Site& site) {
  const Profile& profile = site.profile;
  const ScheduleInfo& info = pick.schedule->info();
  const bool overlaps = pick.schedule->overlaps(boundary, pick.knobs, site);
  std::vector<std::string> unlike;
  Found found;
  if (overlaps && !info.measured_in.empty())
    widen_by(found, profile, info.measured_in, site.products);
  if (!found.band.known()) {
    for (const std::string_view family : kUnfusedFamilies) {
      if (const FamilyError* error = profile.error_of(family)) widen(found, *error);
    }
    if (overlaps && found.band.known()) {
      for (const Schedule* schedule : all_schedules()) {
        if (!schedule->info().measured_in.empty())
          widen_by(found, profile, schedule->info().measured_in, site.products);
      }
      unlike.push_back(fmt::format("no run of {} was measured", info.name));
    }
  }
  if (!found.band.known()) {
    found.band.source = {SourceKind::assumed,
                         "the profile was not tested on rows that its fit did not see"};
    return found.band;
  }
  if (site.group.nodes > 1) unlike.emplace_back("runs across nodes were not measured");
  if (found.ranks && site.ranks() > *found.ranks)
    unlike.push_back(fmt::format("no more than {} ranks were measured", *found.ranks));
  if (const DType type = type_of_products(boundary); type != DType::bf16)
    unlike.push_back(fmt::format("no product of {} was measured", name_of(type)));
  if (!unlike.empty())
    found.band.source = {SourceKind::assumed, fmt::format("{}", fmt::join(unlike, ", "))};
  return found.band;
}

ErrorBand widest(const std::vector<ErrorBand>& bands) {
  const auto widest = std::max_element(
      bands.begin(), bands.end(),
      [](const ErrorBand& a, const ErrorBand& b) { return a.fraction() < b.fraction(); });
  return widest == bands.end() ? ErrorBand() : *widest;
}

ErrorBand attention_band(const Profile& profile) {
  Found found;
  for (const FamilyError& error : profile.errors) {
    if (error.family.find("attention") != std::string::npos) widen(found, error);
  }
  return found.band;
}

}  // namespace weft::model
