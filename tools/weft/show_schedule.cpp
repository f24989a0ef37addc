// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/show_schedule.hpp"

#include <array>

#include <fmt/format.h>

#include "models/planner/evaluate.hpp"
#include "models/planner/ground.hpp"
#include "models/schedules/example.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/format.hpp"
#include "tools/views/lanes.hpp"
#include "tools/views/timeline.hpp"

namespace weft::tool {
namespace {

// In this order: most systems are for the first.
constexpr std::array shown_machines = {"h200x8", "a100x8", "l20x8", "ascend910x8", "h200x8x2"};

Duration time_of(const model::Boundary& boundary, const model::ScheduleChoice& choice,
                 const model::Site& site, const sim::Effects& effects) {
  return model::overlapped_only(boundary, choice, site, effects).overlapped;
}

}  // namespace

std::string show_schedule(const model::Schedule& schedule, Context& context) {
  const model::Knobs knobs(schedule.info().knobs);
  const sim::Effects effects = sim::effects_of(sim::Fidelity::contended);
  for (const char* name : shown_machines) {
    const model::Ground ground = model::read_ground(config_file("machines", name, context).string(),
                                                    std::nullopt, context.search);
    const int ranks = std::string_view(name) == "h200x8x2" ? 16 : 8;
    const model::Site site = model::make_site(ground.machine, ground.profile,
                                              topology::packed_places(ground.machine, ranks));
    const auto boundary = model::example_of(schedule, {1024L * ranks, 8192, 8192}, site);
    if (!boundary) continue;
    const model::ScheduleChoice choice{&schedule, schedule.normalised(*boundary, knobs, site)};
    const sim::Program program = model::boundary_program(*boundary, choice, site);
    LaneSink lanes(site.built.machine, program);
    sim::RecordSink* sink = &lanes;
    static_cast<void>(sim::run(site.built.machine, program, {effects, {}}, {&sink, 1}));
    const model::Schedule* serial = model::find_schedule("serial");
    const Duration unfused =
        time_of(*boundary, {serial, model::Knobs(serial->info().knobs)}, site, effects);
    return fmt::format("\n  {} of {} x 8192 x 8192{} on {}: {}, unfused {}; it holds {} a rank\n{}",
                       boundary->name, 1024 * ranks,
                       boundary->operators.size() > 1 ? " and a wgrad" : "", ground.machine.name,
                       time_of(*boundary, choice, site, effects), unfused,
                       schedule.buffer_bytes(*boundary, choice.knobs, site),
                       draw_timeline(lanes, {80, context.colour, 1}));
  }
  return "\n  no example here: no shipped machine has what it needs\n";
}

}  // namespace weft::tool
