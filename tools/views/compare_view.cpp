// SPDX-License-Identifier: Apache-2.0
#include "tools/views/compare_view.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "configs/reader/sourced.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"
#include "tools/views/lanes.hpp"
#include "tools/views/timeline.hpp"
#include "tools/views/xml_text.hpp"

namespace weft::tool {
namespace {

using model::Comparison;

// One schedule's run, kept with the program that its lanes point into.
struct Drawn {
  const model::Compared* compared;
  std::unique_ptr<sim::Program> program;
  std::unique_ptr<LaneSink> lanes;
};

std::vector<Drawn> run_all(const Comparison& comparison, const sim::Effects& effects) {
  std::vector<Drawn> all;
  const sim::Machine& machine = comparison.site->built.machine;
  for (const model::Compared& each : comparison.schedules) {
    if (!each.choice) continue;
    Drawn drawn{&each,
                std::make_unique<sim::Program>(
                    model::boundary_program(comparison.boundary, *each.choice, *comparison.site)),
                nullptr};
    drawn.lanes = std::make_unique<LaneSink>(machine, *drawn.program);
    sim::RecordSink* sink = drawn.lanes.get();
    static_cast<void>(sim::run(machine, *drawn.program, {effects, {}}, {&sink, 1}));
    all.push_back(std::move(drawn));
  }
  return all;
}

TimePoint last_end(const std::vector<Drawn>& all) {
  TimePoint end;
  for (const Drawn& each : all) end = std::max(end, each.lanes->end());
  return end;
}

std::string title(const model::Compared& compared) {
  return fmt::format("{} {}", compared.schedule, compared.choice->knobs.to_text());
}

std::string headline(const Comparison& c) {
  return fmt::format("{} on {} ranks of {}: A {}, B {}, C {}", c.boundary.name, c.site->ranks(),
                     c.machine_name, c.yardsticks.compute_only, c.yardsticks.communication_only,
                     c.yardsticks.serial);
}

const char* colour_of(LaneKind kind) {
  switch (kind) {
    case LaneKind::compute:
      return "#3b7d4f";
    case LaneKind::communication:
      return "#2f6f9f";
    case LaneKind::engine:
      return "#8a6fb0";
    case LaneKind::nic:
    case LaneKind::link:
      break;
  }
  return "#b07d3b";
}

}  // namespace

std::string describe(const Comparison& comparison, const sim::Effects& effects, bool colour) {
  const std::vector<Drawn> all = run_all(comparison, effects);
  TimelineOptions options{80, colour, 1};
  options.axis = last_end(all) - TimePoint();
  options.legend = false;
  std::string text = headline(comparison) + "\n";
  for (const Drawn& each : all)
    text += fmt::format("\n{}\n{}", title(*each.compared), draw_timeline(*each.lanes, options));
  text += fmt::format("\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>8}  {}\n", "", "A_s", "B_s", "C",
                      "D", "C/D", "D in nine of ten cases like it");
  for (const model::Compared& each : comparison.schedules) {
    if (!each.choice) {
      text += fmt::format("{:<28} refused: {}; unfused instead: {}\n", each.schedule, each.refusal,
                          comparison.yardsticks.serial);
      continue;
    }
    const model::Figures& f = each.figures;
    const std::string within =
        each.band.known()
            ? fmt::format(
                  "{} to {}, {}", each.band.least(f.overlapped), each.band.most(f.overlapped),
                  config::Codec<config::SourceKind>::write(each.band.source.kind).as_string())
            : "not known";
    text +=
        fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10} {:>8.2f}  {}\n", each.schedule,
                    fmt::format("{}", f.schedule_compute_only),
                    fmt::format("{}", f.schedule_communication_only), fmt::format("{}", f.serial),
                    fmt::format("{}", f.overlapped), f.speedup().value_or(0), within);
  }
  return text;
}

std::string to_svg(const Comparison& comparison, const sim::Effects& effects) {
  constexpr int left = 150, width = 900, row = 16, gap = 26;
  const std::vector<Drawn> all = run_all(comparison, effects);
  const double length = std::max(1.0, static_cast<double>((last_end(all) - TimePoint()).ps()));
  const auto x = [&](TimePoint at) {
    return left + width * static_cast<double>((at - TimePoint()).ps()) / length;
  };
  std::string body;
  int y = gap;
  const auto write = [&](int at_x, const std::string& what) {
    body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", at_x, y, xml_text(what));
  };
  write(4, headline(comparison));
  for (const Drawn& each : all) {
    const model::Figures& f = each.compared->figures;
    y += gap;
    write(4, fmt::format("{}: A_s {}, B_s {}, C {}, D {}", title(*each.compared),
                         f.schedule_compute_only, f.schedule_communication_only, f.serial,
                         f.overlapped));
    const std::vector<RankLanes> ranks = each.lanes->ranks();
    if (ranks.empty()) continue;
    for (const Lane& lane : ranks.front().lanes) {
      y += row;
      write(12, lane.name);
      for (const LaneSpan& span : lane.spans) {
        body += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" "
            "fill-opacity=\"{}\"><title>{} chunk {}</title></rect>\n",
            x(span.start), y - row + 5, std::max(0.5, x(span.end) - x(span.start)), row - 3,
            colour_of(lane.kind), span.chunk % 2 == 0 ? "1" : "0.65", xml_text(span.label),
            span.chunk);
      }
    }
    if (const auto link = busiest_link(*each.lanes)) {
      y += row;
      write(12, "busiest link");
      body += fmt::format("<path d=\"M{} {}", left, y + 2);
      for (const LinkLoad& load : link->loads)
        body +=
            fmt::format("H{:.2f}V{:.2f}", x(load.at),
                        y + 2 - (row - 3) * std::min(1.0, load.bytes_per_second / link->capacity));
      body += fmt::format("V{}Z\" fill=\"{}\"><title>{} at {}</title></path>\n", y + 2,
                          colour_of(LaneKind::link), xml_text(link->name),
                          Bandwidth::from_bytes_per_second(std::llround(link->capacity)));
    }
  }
  // One axis for all: a rule every fifth of the longest.
  const int bottom = y + row;
  constexpr int rules = 5;
  for (int i = 0; i <= rules; ++i) {
    const TimePoint at =
        TimePoint() + Duration::from_ps((last_end(all) - TimePoint()).ps() * i / rules);
    body += fmt::format(
        "<path d=\"M{0:.2f} {1}V{2}\" stroke=\"#ccc\"/><text x=\"{0:.2f}\" y=\"{3}\" "
        "text-anchor=\"{4}\">{5}</text>\n",
        x(at), gap + 6, bottom, bottom + 14, i < rules ? "middle" : "end", at - TimePoint());
  }
  y = bottom + 14;
  for (const model::Compared& each : comparison.schedules) {
    if (each.choice) continue;
    y += gap;
    write(4, fmt::format("{} refused: {}", each.schedule, each.refusal));
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      left + width + 20, y + gap, body);
}

}  // namespace weft::tool
