// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "calibration/accuracy/report.hpp"
#include "calibration/fit/fit_profile.hpp"

namespace weft::calibration {

namespace {

double six_digits(double value) {
  return std::round(value * 1e6) / 1e6;
}

/// What the rows of a family are of: the most ranks, and what they do by whom.
void say_what_rows_are(const ErrorRow& row, const std::vector<Observation>& all,
                       model::FamilyError& error) {
  std::set<int> asked;
  for (const Point& point : row.points) asked.insert(point.sample);
  std::set<std::string> operations, transports;
  std::int64_t most = 1;
  for (const Observation& seen : all) {
    const Case& what = seen.what();
    if (!asked.contains(seen.held)) continue;
    most = std::max<std::int64_t>(most, what.ranks.value_or(1));
    operations.insert(what.operation);
    if (!what.transport.empty()) transports.insert(what.transport);
  }
  if (most == 1) return;
  error.ranks = most;
  error.operations.assign(operations.begin(), operations.end());
  error.transports.assign(transports.begin(), transports.end());
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
    say_what_rows_are(row, all, error);
    error.source = {model::SourceKind::measured,
                    reference + ", each fold of shapes left out of the fit"};
    profile.errors.push_back(std::move(error));
  }
}

}  // namespace weft::calibration
