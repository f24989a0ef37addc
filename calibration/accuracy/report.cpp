// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/accuracy/quantile.hpp"
#include "calibration/accuracy/residual_interval.hpp"

namespace weft::calibration {

namespace {

double measured_over_predicted(const Point& point) {
  return ratio(point.measured, point.predicted);
}

/// What is asked and known of one GPU, and profiles of folds as they are needed.
class Bench {
 public:
  Bench(const model::Profile& profile, const Evidence& evidence, const Fit& fit,
        const topology::MachineSpec* machine)
      : profile_(profile),
        fit_(fit),
        machine_(machine),
        all_(evidence.of_gpu(gpu_name(profile.name))) {
    for (const Observation& seen : all_) {
      if (part_of(seen.what(), seen.published) == Part::fit) fit_rows_.push_back(seen);
    }
  }

  /// Calls `use` with what is known and what is asked for each part of the split.
  template <class Row, class Use>
  void each(const Row& row, Split split, const Use& use) {
    if (split == Split::final) {
      std::vector<Observation> asked;
      for (const Observation& seen : all_) {
        if (part_of(seen.what(), seen.published) == Part::held_out && row.takes(seen)) {
          asked.push_back(seen);
        }
      }
      if (!asked.empty()) use(0, Knowledge{profile_, fit_rows_, machine_}, asked);
      return;
    }
    const Grouping grouping = row.grouping();
    for (int fold = 0; fold < fold_count; ++fold) {
      std::vector<Observation> asked;
      for (const Observation& seen : fit_rows_) {
        if (fold_of(seen.what(), grouping) == fold && row.takes(seen)) asked.push_back(seen);
      }
      if (asked.empty()) continue;
      const Fold& without = without_fold(grouping, fold);
      use(fold, Knowledge{without.profile, without.samples, machine_}, asked);
    }
  }

 private:
  struct Fold {
    std::vector<Observation> samples;
    model::Profile profile;
  };

  const Fold& without_fold(Grouping grouping, int fold) {
    const auto [at, fresh] = folds_.try_emplace({grouping, fold});
    if (fresh) {
      for (const Observation& seen : fit_rows_) {
        if (fold_of(seen.what(), grouping) != fold) at->second.samples.push_back(seen);
      }
      at->second.profile = fit_(profile_, at->second.samples);
    }
    return at->second;
  }

  const model::Profile& profile_;
  const Fit& fit_;
  const topology::MachineSpec* machine_;
  std::vector<Observation> all_, fit_rows_;
  std::map<std::pair<Grouping, int>, Fold> folds_;
};

struct Predicted {
  std::vector<Point> points;
  std::vector<Residual> residuals;  ///< of the points
};

Predicted predicted(Bench& bench, const ErrorTableRow& row, Split split) {
  Predicted result;
  bench.each(row, split,
             [&](int fold, const Knowledge& knowledge, const std::vector<Observation>& asked) {
               for (Point& point : row.predict(knowledge, asked)) {
                 result.residuals.push_back({measured_over_predicted(point), fold});
                 result.points.push_back(std::move(point));
               }
             });
  return result;
}

double covered(const std::vector<Residual>& residuals, const ResidualInterval& interval) {
  const auto inside =
      std::count_if(residuals.begin(), residuals.end(),
                    [&](const Residual& residual) { return interval.holds(residual.ratio); });
  return residuals.empty() ? 0
                           : static_cast<double>(inside) / static_cast<double>(residuals.size());
}

ErrorRow error_row(Bench& bench, const ErrorTableRow& row, Split split) {
  Predicted asked = predicted(bench, row, Split::loo);
  const ResidualInterval interval = residual_interval(asked.residuals);
  double coverage = 0;
  if (split == Split::loo) {
    coverage = cross_coverage(asked.residuals);
  } else {
    asked = predicted(bench, row, Split::final);
    coverage = covered(asked.residuals, interval);
  }
  ErrorRow result = summarise_points(row.claim(), std::move(asked.points));
  result.coverage = coverage;
  result.low = interval.low;
  result.high = interval.high;
  return result;
}

bool wanted(const std::string& name, bool baseline, const ReportOptions& options) {
  if (baseline && !options.against) return false;
  if (options.only.empty()) return true;
  return std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

}  // namespace

ErrorRow summarise_points(ErrorClaim claim, std::vector<Point> points) {
  ErrorRow row;
  row.claim = std::move(claim);
  row.n = static_cast<std::int64_t>(points.size());
  std::vector<double> sizes;
  double sum = 0;
  for (const Point& point : points) {
    const double off = ratio(point.predicted, point.measured) - 1;
    sum += off;
    sizes.push_back(std::abs(off));
  }
  row.points = std::move(points);
  if (sizes.empty()) return row;
  std::sort(sizes.begin(), sizes.end());
  row.median = sizes[sizes.size() / 2];
  row.p95 = quantile(sizes, 0.95);
  row.worst = sizes.back();
  row.bias = sum / static_cast<double>(sizes.size());
  return row;
}

DecisionRow summarise_decisions(DecisionClaim claim, std::vector<Decision> decisions) {
  DecisionRow row;
  row.claim = std::move(claim);
  row.n = static_cast<std::int64_t>(decisions.size());
  row.verdict_right = 1;
  if (decisions.empty()) return row;
  std::vector<double> regrets;
  std::int64_t exact = 0, within = 0, right = 0;
  double sum = 0, noise = 0;
  for (const Decision& decision : decisions) {
    regrets.push_back(decision.regret);
    sum += decision.regret;
    noise += decision.noise;
    exact += decision.regret <= decision.noise ? 1 : 0;
    within += decision.regret <= std::max(0.01, decision.noise) ? 1 : 0;
    if (decision.verdict_right) {
      ++row.verdicts;
      right += *decision.verdict_right ? 1 : 0;
    }
  }
  const double n = static_cast<double>(decisions.size());
  std::sort(regrets.begin(), regrets.end());
  row.exact = static_cast<double>(exact) / n;
  row.within_1pct = static_cast<double>(within) / n;
  row.regret_mean = sum / n;
  row.regret_p95 = quantile(regrets, 0.95);
  row.regret_max = regrets.back();
  row.noise = noise / n;
  if (row.verdicts > 0) {
    row.verdict_right = static_cast<double>(right) / static_cast<double>(row.verdicts);
  }
  row.decisions = std::move(decisions);
  return row;
}

Report make_report(const model::Profile& profile, const Evidence& evidence, const Fit& fit,
                   const ReportOptions& options) {
  Bench bench(profile, evidence, fit, options.machine ? &*options.machine : nullptr);
  Report report;
  report.split = options.split;
  report.profile = profile.name;
  report.evidence = evidence.hash_of(gpu_name(profile.name));
  for (const auto& row : error_rows()) {
    const ErrorClaim claim = row->claim();
    if (!wanted(claim.name, claim.baseline, options)) continue;
    report.errors.push_back(error_row(bench, *row, options.split));
  }
  for (const auto& row : decision_rows()) {
    const DecisionClaim claim = row->claim();
    if (!wanted(claim.name, claim.baseline, options)) continue;
    std::vector<Decision> decisions;
    bench.each(*row, options.split,
               [&](int, const Knowledge& knowledge, const std::vector<Observation>& asked) {
                 for (Decision& decision : row->decide(knowledge, asked)) {
                   decisions.push_back(std::move(decision));
                 }
               });
    report.decisions.push_back(summarise_decisions(claim, std::move(decisions)));
  }
  return report;
}

}  // namespace weft::calibration
