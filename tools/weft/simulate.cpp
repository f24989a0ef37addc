// SPDX-License-Identifier: Apache-2.0
// `weft simulate`: one scenario, as a timeline and its figures.
#include <ostream>
#include <variant>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/attribution.hpp"
#include "models/planner/pipeline.hpp"
#include "models/planner/plan.hpp"
#include "sim/units/format.hpp"
#include "tools/views/figures_view.hpp"
#include "tools/views/plan_view.hpp"
#include "tools/views/timeline.hpp"
#include "tools/views/trace.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

using config::Value;

// What a scenario came to: the program that is drawn, its figures, and what is said beside them.
struct Simulated {
  sim::Machine machine;
  sim::Program program;
  sim::Effects effects;
  model::Figures figures;
  std::vector<model::BoundaryFigures> boundaries;
  std::vector<model::Boundary> shapes;  // of the boundaries; none of a pipeline
  std::vector<model::ClaimFinding> findings;
  std::optional<model::Attribution> attribution;
  std::optional<model::ErrorBand> band;
  std::vector<config::SourcedUse> assumed;
  std::vector<config::ConfigError> notes;
  model::EffectiveConfig config;
  std::string what;  // one line
};

Simulated of_pipeline(const model::PipelineScenario& pipeline) {
  model::PipelineProgram built = model::pipeline_program(pipeline);
  Simulated result;
  result.machine = std::move(built.machine);
  result.program = std::move(built.program);
  result.effects = sim::effects_of(sim::Fidelity::ideal);
  result.figures = model::pipeline_figures(pipeline);
  result.boundaries.push_back({"pipeline", "pipeline", {}, result.figures});
  if (pipeline.claim) result.findings = model::examine(*pipeline.claim);
  result.what = fmt::format("{} chunk(s) of {} compute and {} communication", pipeline.chunks,
                            pipeline.compute, pipeline.communication);
  return result;
}

// A boundary or a model: what the plan picks, or what the scenario fixes.
Simulated of_plan(const model::Scenario& scenario, bool explain, Context& context) {
  const model::Plan plan =
      run_plan(scenario, {.threads = 0, .exhaustive = false, .explain = explain}, context);
  if (plan.layouts.empty()) throw NothingFits(plan);
  const model::LayoutPlan& layout = plan.layouts.front();
  Simulated result;
  model::PlanView view = model::view_of(plan, layout);
  result.machine = std::move(view.machine);
  result.program = std::move(view.program);
  result.effects = sim::effects_of(scenario.fidelity);
  result.figures = view.figures;
  result.what = view.what;
  for (const model::BoundaryPlan& boundary : layout.boundaries) {
    result.boundaries.push_back(boundary.figures);
    result.shapes.push_back(boundary.boundary);
  }
  if (explain) {
    result.attribution = view.attribution ? view.attribution
                                          : model::attribute(result.machine, result.program,
                                                             view.compute, result.effects);
  }
  result.band = plan.band;
  result.assumed = plan.assumed;
  result.notes = plan.notes;
  result.config = plan.config;
  return result;
}

void write_text(const SimulateOptions& options, const model::Scenario& scenario, const Simulated& s,
                Context& context) {
  context.out << fmt::format("{}: {}\n", scenario.name, s.what) << describe_notes(s.notes);
  if (options.timeline) {
    LaneSink lanes(s.machine, s.program);
    sim::RecordSink* sink = &lanes;
    static_cast<void>(sim::run(s.machine, s.program, {s.effects, {}}, {&sink, 1}));
    context.out << draw_timeline(lanes, {80, context.colour, options.ranks});
  }
  context.out << describe(s.figures, s.band);
  if (s.attribution) context.out << describe(*s.attribution);
  if (s.boundaries.size() > 1) {
    context.out << describe_boundaries(s.boundaries);
  }
  if (!s.findings.empty()) context.out << "claim\n" << describe(s.findings);
  if (!s.assumed.empty()) {
    context.out << fmt::format(
        "{} numbers of machine and profile are assumed; --format json lists them\n",
        s.assumed.size());
  }
  context.out << run_line(s.config.hash());
}

void write_json(const model::Scenario& scenario, const Simulated& s, Context& context) {
  Value object =
      Value::object({{"schema", "weft.simulation/1"}, {"name", scenario.name}, {"what", s.what}});
  add_figures(s.figures, object);
  Value boundaries = Value::array();
  for (std::size_t i = 0; i < s.boundaries.size(); ++i) {
    Value boundary = to_value(s.boundaries[i]);
    if (i < s.shapes.size()) add_collectives(s.shapes[i], s.boundaries[i].knobs, boundary);
    boundaries.push(std::move(boundary));
  }
  object.set("boundaries", std::move(boundaries));
  if (s.attribution) object.set("attribution", to_value(*s.attribution));
  if (s.band) object.set("error_band", to_value(*s.band));
  if (!s.findings.empty()) {
    Value findings = Value::array();
    for (const model::ClaimFinding& finding : s.findings) {
      findings.push(Value::object(
          {{"name", finding.name}, {"holds", finding.holds}, {"sentence", finding.sentence}}));
    }
    object.set("claim", std::move(findings));
  }
  object.set("assumed", to_value(s.assumed));
  object.set("notes", to_value(s.notes));
  add_config(s.config, object);
  object.set("weft", build_value());
  context.out << config::to_json(object);
}

}  // namespace

ExitCode simulate(const SimulateOptions& options, Context& context) {
  const model::Scenario scenario = load_scenario(options.scenario, options.pinned, context);
  Simulated simulated;
  try {
    const auto* pipeline = std::get_if<model::PipelineScenario>(&scenario.what);
    simulated =
        pipeline != nullptr ? of_pipeline(*pipeline) : of_plan(scenario, options.explain, context);
    if (pipeline != nullptr) simulated.config = model::effective_config(scenario, context.search);
  } catch (const NothingFits& nothing) {
    context.out << (context.format == Format::json ? config::to_json(to_value(nothing.plan))
                                                   : describe(nothing.plan, 1));
    return ExitCode::failed;
  }
  if (options.trace) {
    LaneSink lanes(simulated.machine, simulated.program);
    sim::RecordSink* sink = &lanes;
    static_cast<void>(
        sim::run(simulated.machine, simulated.program, {simulated.effects, {}}, {&sink, 1}));
    config::write_file(*options.trace,
                       [&](std::ostream& out) { write_trace(lanes, scenario.name, out); });
  }
  if (context.format == Format::json) {
    write_json(scenario, simulated, context);
  } else {
    write_text(options, scenario, simulated, context);
    if (options.trace) context.out << fmt::format("trace written to {}\n", *options.trace);
  }
  return ExitCode::ok;
}

}  // namespace weft::tool
