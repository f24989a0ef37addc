// SPDX-License-Identifier: Apache-2.0
// `weft diff`: a recorded trace beside what a scenario predicts.
#include <ostream>
#include <variant>

#include <fmt/format.h>

#include "calibration/import/exposed.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nsys.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/pipeline.hpp"
#include "tools/views/exposure_view.hpp"
#include "tools/weft/import_formats.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

constexpr Bytes kLargestTable = Bytes::from(std::int64_t{256} << 20);

calibration::GpuTrace read_trace(const std::string& file) {
  const std::string head = head_of(file);
  if (calibration::looks_like_sqlite(head)) return calibration::read_nsys_sqlite(file);
  if (calibration::looks_like_trace(head)) return calibration::read_kineto(file);
  if (calibration::looks_like_nsys_csv(head)) {
    return calibration::parse_nsys_csv(config::read_text(file, kLargestTable), file);
  }
  throw UsageError(
      fmt::format("{} is no trace of the PyTorch profiler or of Nsight Systems", file));
}

}  // namespace

ExitCode diff(const DiffOptions& options, Context& context) {
  const calibration::GpuTrace trace = read_trace(options.trace);
  print_notes(trace.notes, context);
  const calibration::ExposureReport report = calibration::exposure_of(trace);
  const model::Scenario scenario = load_scenario(options.scenario, options.pinned, context);
  model::Figures figures;
  std::string what = scenario.name;
  if (const auto* pipeline = std::get_if<model::PipelineScenario>(&scenario.what)) {
    figures = model::pipeline_figures(*pipeline);
  } else {
    const model::Plan plan = run_plan(scenario, {}, context);
    if (plan.layouts.empty()) throw UsageError(fmt::format("{}: nothing fits", options.scenario));
    const model::PlanView view = model::view_of(plan, plan.layouts.front());
    figures = view.figures;
    what = view.what;
  }
  const std::vector<Compared> rows = compare(report, figures, options.steps);
  if (context.format == Format::json) {
    context.out << config::to_json(config::Value::object(
        {{"predicted", what}, {"compared", to_value(rows)}, {"trace", to_value(trace, report)}}));
    return ExitCode::ok;
  }
  context.out << fmt::format("predicted: {}\n\n", what) << describe(rows);
  if (!options.steps) {
    context.out << "\nhow many runs of it the trace holds is not known: only ratios are compared "
                   "(--steps N)\n";
  }
  context.out << '\n' << describe(trace, report);
  return ExitCode::ok;
}

}  // namespace weft::tool
