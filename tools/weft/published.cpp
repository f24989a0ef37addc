// SPDX-License-Identifier: Apache-2.0
// `weft published`: what weft predicts for figures that others published.
#include <ostream>

#include <fmt/format.h>

#include "calibration/published/compare.hpp"
#include "configs/reader/json_writer.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

using config::Value;

ExitCode published(Context& context) {
  const std::string machines = config_file("machines", "h100x8", context).parent_path().string();
  const calibration::PublishedReport report =
      calibration::compare_published(machines, context.search);
  const auto nvls = calibration::compare_nvls(machines, context.search);
  if (context.format == Format::json) {
    Value rows = Value::array();
    for (const calibration::PublishedRow& row : report.rows) {
      Value object = Value::object({{"what", row.what},
                                    {"published", row.published},
                                    {"predicted", row.predicted},
                                    {"error", row.error},
                                    {"assumed", row.assumed},
                                    {"source", row.source}});
      if (row.sign) object.set("sign_right", *row.sign);
      rows.push(std::move(object));
    }
    Value object = Value::object({{"schema", "weft.published/1"},
                                  {"signs", std::int64_t{report.signs}},
                                  {"signs_right", std::int64_t{report.right}},
                                  {"median_error", report.median_error}});
    object.set("rows", std::move(rows));
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
  context.out << fmt::format(
      "win or loss right: {} of {} rows that differ by more than 5 %; median error {:.0f} %\n",
      report.right, report.signs, 100 * report.median_error);
  context.out << "\nNVLS all-reduce, bus bandwidth in GB/s by GPUs of 8 H100\n";
  for (const calibration::NvlsPoint& point : nvls) {
    context.out << fmt::format("  {} published {:.0f} predicted {:.0f} ({:+.0f} %), ring {:.0f}\n",
                               point.ranks, point.published, point.predicted,
                               100 * (point.predicted / point.published - 1), point.ring);
  }
  context.out << "\nnot covered\n";
  for (const std::string_view line : calibration::published_not_covered())
    context.out << "  " << line << '\n';
  context.out << "contradictions\n";
  for (const std::string_view line : calibration::published_contradictions())
    context.out << "  " << line << '\n';
  return ExitCode::ok;
}

}  // namespace weft::tool
