// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "calibration/accuracy/report.hpp"
#include "calibration/fit/fit_profile.hpp"

namespace weft::calibration {

namespace {

double six_digits(double value) {
  return std::round(value * 1e6) / 1e6;
}

/// The most ranks among the rows that were predicted; none where they are all of one.
std::optional<std::int64_t> most_ranks(const ErrorRow& row, const std::vector<Observation>& all) {
  std::set<int> asked;
  for (const Point& point : row.points) asked.insert(point.sample);
  std::int64_t most = 1;
  for (const Observation& seen : all) {
    if (asked.contains(seen.held))
      most = std::max<std::int64_t>(most, seen.what().ranks.value_or(1));
  }
  return most > 1 ? std::optional(most) : std::nullopt;
}

}  // namespace

void add_residuals(model::Profile& profile, const Evidence& evidence,
                   const topology::MachineSpec& machine, const std::string& reference) {
  const Report report = make_report(profile, evidence, fit_profile,
                                    {.only = {"GEMM", "NCCL", "over NVLink"}, .machine = machine});
  const std::vector<Observation> all = evidence.of_gpu(gpu_name(profile.name));
  for (const ErrorRow& row : report.errors) {
    if (row.n == 0) continue;
    std::erase_if(profile.errors,
                  [&](const model::FamilyError& old) { return old.family == row.claim.name; });
    model::FamilyError error;
    error.family = row.claim.name;
    error.rows = row.n;
    error.median = six_digits(row.median);
    error.p95 = six_digits(row.p95);
    error.worst = six_digits(row.worst);
    error.bias = six_digits(row.bias);
    error.low = six_digits(row.low);
    error.high = six_digits(row.high);
    error.ranks = most_ranks(row, all);
    error.source = {model::SourceKind::measured,
                    reference + ", each fold of shapes left out of the fit"};
    profile.errors.push_back(std::move(error));
  }
}

}  // namespace weft::calibration
