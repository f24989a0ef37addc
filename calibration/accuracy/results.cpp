// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/results.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "configs/reader/strict_object.hpp"

namespace weft::calibration {

namespace {

using config::StrictObject;
using config::Value;

constexpr std::string_view kSchema = "weft.accuracy/1";
constexpr std::string_view kFinal = "final.json";
constexpr std::string_view kLog = "log.jsonl";
constexpr Bytes kMaxLog = Bytes::from(std::int64_t{64} << 20);

/// Six digits after the point: a ten-thousandth of a percent.
double rounded(double value) {
  return std::round(value * 1e6) / 1e6;
}

void set_bar(Value& row, std::string_view name, const std::optional<double>& limit) {
  if (limit) row.set(name, *limit);
}

Value error_value(const ErrorRow& row) {
  Value value = Value::object({{"name", row.claim.name},
                               {"n", row.n},
                               {"median", rounded(row.median)},
                               {"p95", rounded(row.p95)},
                               {"worst", rounded(row.worst)},
                               {"bias", rounded(row.bias)},
                               {"coverage_90", rounded(row.coverage)}});
  set_bar(value, "bar_median", row.claim.median);
  set_bar(value, "bar_p95", row.claim.p95);
  return value;
}

Value decision_value(const DecisionRow& row) {
  Value value = Value::object({{"name", row.claim.name},
                               {"n", row.n},
                               {"exact", rounded(row.exact)},
                               {"within_1pct", rounded(row.within_1pct)},
                               {"regret_mean", rounded(row.regret_mean)},
                               {"regret_p95", rounded(row.regret_p95)},
                               {"regret_max", rounded(row.regret_max)},
                               {"verdict_right", rounded(row.verdict_right)},
                               {"verdicts", row.verdicts},
                               {"noise", rounded(row.noise)}});
  set_bar(value, "bar_within_1pct", row.claim.within_1pct);
  set_bar(value, "bar_regret_mean", row.claim.regret_mean);
  set_bar(value, "bar_regret_p95", row.claim.regret_p95);
  set_bar(value, "bar_regret_max", row.claim.regret_max);
  return value;
}

std::optional<double> read_bar(StrictObject& object, std::string_view name) {
  return object.optional<double>({name, "what the row must keep to"});
}

ErrorRow read_error(StrictObject& object) {
  ErrorRow row;
  row.claim.name = object.required<std::string>({"name", "what was predicted"});
  row.n = object.required<std::int64_t>({"n", "predictions"});
  row.median = object.required<double>({"median", "of the error's size"});
  row.p95 = object.required<double>({"p95", "95th percentile of the error's size"});
  row.worst = object.required<double>({"worst", "largest error"});
  row.bias = object.required<double>({"bias", "mean error with its sign"});
  row.coverage = object.required<double>({"coverage_90", "share within the 90 % interval"});
  row.claim.median = read_bar(object, "bar_median");
  row.claim.p95 = read_bar(object, "bar_p95");
  return row;
}

DecisionRow read_decision(StrictObject& object) {
  DecisionRow row;
  row.claim.name = object.required<std::string>({"name", "whose decisions"});
  row.n = object.required<std::int64_t>({"n", "cases"});
  row.exact = object.required<double>({"exact", "share picked within the noise floor"});
  row.within_1pct = object.required<double>({"within_1pct", "share within 1 % of the best"});
  row.regret_mean = object.required<double>({"regret_mean", "mean cost over the best"});
  row.regret_p95 = object.required<double>({"regret_p95", "95th percentile of it"});
  row.regret_max = object.required<double>({"regret_max", "largest"});
  row.verdict_right = object.required<double>({"verdict_right", "share of overlap or not"});
  row.verdicts = object.required<std::int64_t>({"verdicts", "cases where that mattered"});
  row.noise = object.required<double>({"noise", "mean noise floor"});
  row.claim.within_1pct = read_bar(object, "bar_within_1pct");
  row.claim.regret_mean = read_bar(object, "bar_regret_mean");
  row.claim.regret_p95 = read_bar(object, "bar_regret_p95");
  row.claim.regret_max = read_bar(object, "bar_regret_max");
  return row;
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}
std::string beside(double fraction, const std::optional<double>& limit) {
  if (!limit) return percent(fraction);
  return fmt::format("{} ({:g} %)", percent(fraction), 100 * *limit);
}

}  // namespace

Value to_value(const Report& report) {
  Value errors = Value::array(), decisions = Value::array();
  for (const ErrorRow& row : report.errors) errors.push(error_value(row));
  for (const DecisionRow& row : report.decisions) decisions.push(decision_value(row));
  return Value::object({{"schema", kSchema},
                        {"split", report.split == Split::loo ? "loo" : "final"},
                        {"profile", report.profile},
                        {"evidence", report.evidence},
                        {"errors", std::move(errors)},
                        {"decisions", std::move(decisions)}});
}

void record_final(const std::filesystem::path& folder, const Report& report,
                  const Occasion& occasion) {
  Value value = to_value(report);
  value.set("date", occasion.date);
  value.set("commit", occasion.commit);
  std::filesystem::create_directories(folder);
  std::string log;
  if (std::filesystem::exists(folder / kLog)) log = config::read_text(folder / kLog, kMaxLog);
  log += config::to_json(value, config::Layout::compact) + "\n";
  config::write_file(folder / kLog, log);
  config::write_file(folder / kFinal, config::to_json(value));
}

FinalRecord load_final(const std::filesystem::path& folder) {
  const config::Document document = config::Document::load(folder / kFinal);
  StrictObject root(document);
  root.schema(kSchema, "how far predictions and picks are from measurements");
  FinalRecord record;
  (void)root.required<std::string>({"split", "which samples"});
  record.report.split = Split::final;
  record.report.profile = root.required<std::string>({"profile", "that predicted"});
  record.report.evidence = root.required<std::string>({"evidence", "hash of the samples"});
  record.report.errors = root.required_list({"errors", "of predictions"}, read_error);
  record.report.decisions = root.required_list({"decisions", "of picks"}, read_decision);
  record.date = root.required<std::string>({"date", "when it was made, UTC"});
  record.commit = root.required<std::string>({"commit", "what was run"});
  root.finish();
  const std::string log = config::read_text(folder / kLog, kMaxLog);
  record.runs = static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  return record;
}

std::string markdown(const FinalRecord& record) {
  std::string text = fmt::format(
      "Held-out samples, profile `{}`, {} at commit {}. `weft accuracy --final` has been run {} {} "
      "so far.\n"
      "In parentheses what each figure is meant to keep to.\n\n"
      "| what | n | median | 95th percentile | worst | bias | in the 90 % interval |\n"
      "|---|---|---|---|---|---|---|\n",
      record.report.profile, record.date.substr(0, 10), record.commit, record.runs,
      record.runs == 1 ? "time" : "times");
  for (const ErrorRow& row : record.report.errors) {
    text += fmt::format("| {} | {} | {} | {} | {} | {:+.1f} % | {} |\n", row.claim.name, row.n,
                        beside(row.median, row.claim.median), beside(row.p95, row.claim.p95),
                        percent(row.worst), 100 * row.bias, percent(row.coverage));
  }
  if (record.report.decisions.empty()) return text;
  text +=
      "\n| decisions | n | exact | within 1 % | regret mean | 95th percentile | largest | overlap "
      "or "
      "not right | noise |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const DecisionRow& row : record.report.decisions) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} of {} | {} |\n", row.claim.name,
                        row.n, percent(row.exact), beside(row.within_1pct, row.claim.within_1pct),
                        beside(row.regret_mean, row.claim.regret_mean),
                        beside(row.regret_p95, row.claim.regret_p95),
                        beside(row.regret_max, row.claim.regret_max), percent(row.verdict_right),
                        row.verdicts, percent(row.noise));
  }
  return text;
}

}  // namespace weft::calibration
