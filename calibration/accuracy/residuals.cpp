// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/residuals.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/accuracy/report.hpp"
#include "calibration/fit/fit_profile.hpp"

namespace weft::calibration {

namespace {

double six_digits(double value) {
  return std::round(value * 1e6) / 1e6;
}

Duration scaled(Duration time, double factor) {
  return Duration::from_ps(std::llround(static_cast<double>(time.ps()) * factor));
}

}  // namespace

void add_residuals(model::Profile& profile, const Evidence& evidence,
                   const topology::MachineSpec& machine, const std::string& reference) {
  const Report report = make_report(profile, evidence, fit_profile,
                                    {.only = {"GEMM", "NCCL", "over NVLink"}, .machine = machine});
  for (const ErrorRow& row : report.errors) {
    if (row.n == 0) continue;
    std::erase_if(profile.errors,
                  [&](const model::FamilyError& old) { return old.family == row.claim.name; });
    profile.errors.push_back(
        {row.claim.name,
         row.n,
         six_digits(row.median),
         six_digits(row.p95),
         six_digits(row.worst),
         six_digits(row.bias),
         six_digits(row.low),
         six_digits(row.high),
         {model::SourceKind::measured, reference + ", each fold of shapes left out of the fit"}});
  }
}

TimeInterval interval_of(const model::Profile& profile, const std::string& family,
                         Duration predicted) {
  const model::FamilyError* error = profile.error_of(family);
  if (error == nullptr) return {predicted, predicted};
  return {scaled(predicted, error->low), scaled(predicted, error->high)};
}

}  // namespace weft::calibration
