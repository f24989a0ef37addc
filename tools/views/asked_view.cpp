// SPDX-License-Identifier: Apache-2.0
#include "tools/views/asked_view.hpp"

#include <cmath>

#include <fmt/format.h>

#include "sim/units/format.hpp"

namespace weft::tool {
namespace {

std::string where(const model::AskedBoundary& row) {
  if (row.product.empty()) return "not overlapped";
  return row.line == 0 ? "its default" : fmt::format("line {}", row.line);
}

/// "4.2 % slower than"
std::string against(Duration time, Duration other) {
  if (time == other || other == Duration()) return "as fast as";
  const double share = 100 * (ratio(time, other) - 1);
  return fmt::format("{:.1f} % {} than", std::fabs(share), share > 0 ? "slower" : "faster");
}

}  // namespace

std::string describe(const model::AskedPlan& asked) {
  std::string text =
      fmt::format("as {} asks, {}\n  {:<14} {:<15} {:>12} {:>12} {:>12}\n", asked.file,
                  asked.layout, "boundary", "asked for by", "as asked", "unfused", "weft's pick");
  for (const model::AskedBoundary& row : asked.boundaries) {
    text += fmt::format("  {:<14} {:<15} {:>12} {:>12} {:>12}\n", row.boundary, where(row),
                        fmt::format("{}", row.time), fmt::format("{}", row.serial),
                        fmt::format("{}", row.picked));
    if (!row.product.empty()) text += fmt::format("      asked: {}\n", row.asked);
    if (!row.refusal.empty()) text += fmt::format("      refused, so unfused: {}\n", row.refusal);
    text += fmt::format("      weft:  {}\n", row.pick);
  }
  for (const std::string& note : asked.notes) text += fmt::format("  note: {}\n", note);
  text += fmt::format("a step takes {} as asked, {} no overlap ({}) and {} weft's picks ({})\n",
                      asked.step, against(asked.step, asked.serial_step), asked.serial_step,
                      against(asked.step, asked.planned_step), asked.planned_step);
  return text;
}

config::Value to_value(const model::AskedPlan& asked) {
  config::Value rows = config::Value::array();
  for (const model::AskedBoundary& row : asked.boundaries) {
    config::Value object = config::Value::object({{"boundary", row.boundary},
                                                  {"product", row.product},
                                                  {"line", row.line},
                                                  {"asked", row.asked},
                                                  {"time_ps", row.time.ps()},
                                                  {"serial_ps", row.serial.ps()},
                                                  {"pick", row.pick},
                                                  {"picked_ps", row.picked.ps()}});
    if (!row.refusal.empty()) object.set("refused", row.refusal);
    rows.push(std::move(object));
  }
  config::Value notes = config::Value::array();
  for (const std::string& note : asked.notes) notes.push(note);
  return config::Value::object({{"file", asked.file},
                                {"layout", asked.layout},
                                {"step_ps", asked.step.ps()},
                                {"serial_step_ps", asked.serial_step.ps()},
                                {"planned_step_ps", asked.planned_step.ps()},
                                {"boundaries", std::move(rows)},
                                {"notes", std::move(notes)}});
}

}  // namespace weft::tool
