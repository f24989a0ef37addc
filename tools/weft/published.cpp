// SPDX-License-Identifier: Apache-2.0
// `weft published`: what weft predicts for figures that others published.
#include <ostream>

#include <fmt/format.h>

#include "calibration/published/report.hpp"
#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

using config::Value;

ExitCode published(const PublishedOptions& options, Context& context) {
  const std::string machines = config_file("machines", "h100x8", context).parent_path().string();
  const calibration::PublishedReport report =
      calibration::compare_published(machines, context.search, options.only);
  if (options.markdown) config::write_file(*options.markdown, calibration::to_markdown(report));
  if (context.format == Format::json) {
    Value rows = Value::array();
    for (const calibration::PublishedRow& row : report.rows) {
      Value object = Value::object({{"what", row.what},
                                    {"published", row.published},
                                    {"predicted", row.predicted},
                                    {"error", row.error},
                                    {"baseline", row.baseline},
                                    {"assumed", row.assumed},
                                    {"source", row.source}});
      if (row.sign) object.set("sign_right", *row.sign);
      rows.push(std::move(object));
    }
    Value object = Value::object({{"schema", "weft.published/1"},
                                  {"signs", std::int64_t{report.signs}},
                                  {"signs_right", std::int64_t{report.right}},
                                  {"losses", std::int64_t{report.losses}},
                                  {"losses_right", std::int64_t{report.losses_right}},
                                  {"median_error", report.median_error},
                                  {"median_error_stated", report.median_stated}});
    object.set("rows", std::move(rows));
    Value nvls = Value::array();
    for (const calibration::NvlsPoint& point : report.nvls) {
      nvls.push(Value::object({{"ranks", point.ranks},
                               {"published_gbps", point.published},
                               {"predicted_gbps", point.predicted},
                               {"ring_gbps", point.ring}}));
    }
    Value uncovered = Value::array();
    for (const calibration::PublishedUncovered& row : calibration::published_uncovered()) {
      uncovered.push(Value::object({{"what", row.what},
                                    {"published", row.published},
                                    {"why", row.why},
                                    {"source", row.source}}));
    }
    object.set("nvls", std::move(nvls)).set("uncovered", std::move(uncovered));
    context.out << config::to_json(object);
    return ExitCode::ok;
  }
  context.out << fmt::format("{:<64} {:>10} {:>10} {:>7}  {}\n", "figure", "published", "predicted",
                             "error", "assumed");
  for (const calibration::PublishedRow& row : report.rows) {
    context.out << fmt::format("{:<64} {:>10} {:>10} {:>6.0f}%{} {}\n", row.what, row.published,
                               row.predicted, 100 * row.error, row.sign && !*row.sign ? "!" : " ",
                               row.assumed);
  }
  context.out << calibration::headline(report) << '\n';
  context.out << "\nNVLS all-reduce, bus bandwidth in GB/s by GPUs of 8 H100\n";
  for (const calibration::NvlsPoint& point : report.nvls) {
    context.out << fmt::format("  {} published {:.0f} predicted {:.0f} ({:+.0f} %), ring {:.0f}\n",
                               point.ranks, point.published, point.predicted,
                               100 * (point.predicted / point.published - 1), point.ring);
  }
  context.out << "\nnot covered\n";
  for (const calibration::PublishedUncovered& row : calibration::published_uncovered())
    context.out << fmt::format("  {} ({}): {}\n", row.what, row.published, row.why);
  context.out << "contradictions\n";
  for (const std::string_view line : calibration::published_contradictions())
    context.out << "  " << line << '\n';
  return ExitCode::ok;
}

}  // namespace weft::tool
