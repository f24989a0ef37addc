// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "calibration/fit/error_summary.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "calibration/fit/split.hpp"
#include "models/cost/roofline.hpp"
#include "models/profile/families.hpp"

namespace weft::calibration {

namespace {

using model::AttentionConstants;
using model::Source;
using model::SourceKind;

Duration modelled(const model::Profile& profile, const AttentionSample& sample) {
  return attention_cost(profile,
                        {.batch = sample.batch,
                         .query_tokens = sample.tokens,
                         .key_tokens = sample.tokens,
                         .heads = sample.heads,
                         .kv_heads = sample.kv_heads,
                         .head_dim = sample.head_dim},
                        model::SmBudget::of(profile.gpu.sms.value))
      .time;
}

AttentionConstants constants_of(std::int64_t head_dim, std::span<const double> values) {
  AttentionConstants constants;
  constants.head_dim = head_dim;
  constants.start.value = Duration::from_ps(std::llround(values[0] * 1e6));
  constants.matrix_efficiency.value = values[1];
  constants.tile_prologue.value = Duration::from_ps(std::llround(values[2] * 1e6));
  return constants;
}

/// Shorter sequences do not fill a tile of query rows: serving systems run them as decode.
constexpr std::int64_t kFewestTokens = 128;

}  // namespace

AttentionFit fit_attention(const model::Profile& profile,
                           const std::vector<AttentionSample>& samples, const std::string& table) {
  std::set<std::int64_t> dims;
  for (const AttentionSample& sample : samples) dims.insert(sample.head_dim);
  AttentionFit fit;
  for (const std::int64_t dim : dims) {
    std::vector<AttentionSample> rows;
    for (const AttentionSample& sample : samples) {
      if (sample.head_dim != dim || sample.tokens < kFewestTokens) continue;
      if (is_fit_row(sample)) rows.push_back(sample);
    }
    model::Profile trial = profile;
    LeastSquaresProblem problem;
    problem.parameters = {
        {"start", 8, 0.5, 60}, {"matrix efficiency", 0.5, 0.05, 1}, {"tile prologue", 1, 0.01, 30}};
    problem.max_iterations = 40;
    problem.residuals = [&](std::span<const double> values) {
      trial.attention = {constants_of(dim, values)};
      std::vector<double> residuals;
      residuals.reserve(rows.size());
      for (const AttentionSample& row : rows) {
        residuals.push_back(std::log(ratio(modelled(trial, row), row.time)));
      }
      return residuals;
    };
    const LeastSquaresResult result = minimise(problem);
    AttentionConstants constants = constants_of(dim, result.values);
    constants.matrix_efficiency.value = std::round(constants.matrix_efficiency.value * 1e4) / 1e4;
    const auto source = [&](std::size_t i) -> Source {
      return {SourceKind::fitted, fmt::format("{}, {} rows, +-{:.1f} %", table, rows.size(),
                                              100 * result.relative_errors[i])};
    };
    constants.start.source = source(0);
    constants.matrix_efficiency.source = source(1);
    constants.tile_prologue.source = source(2);
    fit.constants.push_back(constants);
    fit.rows += rows.size();
  }
  return fit;
}

model::FamilyError attention_error(const model::Profile& profile,
                                   const std::vector<AttentionSample>& samples,
                                   const std::string& table) {
  std::vector<Prediction> rows;
  for (const AttentionSample& sample : samples) {
    if (sample.tokens < kFewestTokens || is_fit_row(sample)) continue;
    rows.push_back({modelled(profile, sample), sample.time});
  }
  return summarise(std::string(model::families::prefill_attention), rows,
                   {SourceKind::measured,
                    table + ", sequences of 128 tokens and more, shapes held out of the fit"});
}

}  // namespace weft::calibration
