// SPDX-License-Identifier: Apache-2.0
#include "tools/views/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "sim/units/format.hpp"

namespace weft::tool {
namespace {

constexpr int name_width = 18;

char chunk_mark(int chunk) {
  if (chunk < 10) return static_cast<char>('0' + chunk);
  if (chunk < 36) return static_cast<char>('a' + chunk - 10);
  return '+';
}

char load_mark(double share) {
  if (share >= 0.95) return '#';
  const int tenths = static_cast<int>(std::lround(share * 10));
  return tenths == 0 ? '.' : chunk_mark(std::min(tenths, 9));
}

// The part of the run that one cell of a line shows, in picoseconds.
struct Axis {
  std::int64_t length;
  int cells;
  std::int64_t begin(int cell) const {
    return static_cast<std::int64_t>(Int128{length} * cell / cells);
  }
};

std::string cells_of(const Lane& lane, const Axis& axis) {
  // Time of each chunk in each cell; the chunk with most of it is shown if the lane is busy for half of the cell,
  // be it with many chunks that are shorter than that.
  std::string line(static_cast<std::size_t>(axis.cells), '.');
  std::vector<std::map<int, std::int64_t>> time(line.size());
  for (const LaneSpan& span : lane.spans) {
    const std::int64_t start = (span.start - TimePoint()).ps(), end = (span.end - TimePoint()).ps();
    if (start >= end) continue;
    int cell = static_cast<int>(Int128{start} * axis.cells / axis.length);
    for (; cell < axis.cells && axis.begin(cell) < end; ++cell) {
      const std::int64_t part =
          std::min(end, axis.begin(cell + 1)) - std::max(start, axis.begin(cell));
      if (part > 0) time[static_cast<std::size_t>(cell)][span.chunk] += part;
    }
  }
  for (int cell = 0; cell < axis.cells; ++cell) {
    const auto& chunks = time[static_cast<std::size_t>(cell)];
    const auto most =
        std::max_element(chunks.begin(), chunks.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::int64_t width = axis.begin(cell + 1) - axis.begin(cell);
    std::int64_t busy = 0;
    for (const auto& [chunk, part] : chunks) busy += part;
    if (most != chunks.end() && 2 * busy >= std::max<std::int64_t>(1, width)) {
      line[static_cast<std::size_t>(cell)] = chunk_mark(most->first);
    }
  }
  return line;
}

std::string cells_of(const LinkLane& link, const Axis& axis) {
  std::vector<double> bytes(static_cast<std::size_t>(axis.cells), 0.0);
  for (std::size_t i = 0; i + 1 < link.loads.size() + 1; ++i) {
    const std::int64_t start = (link.loads[i].at - TimePoint()).ps();
    const std::int64_t end =
        i + 1 < link.loads.size() ? (link.loads[i + 1].at - TimePoint()).ps() : axis.length;
    if (link.loads[i].bytes_per_second <= 0 || start >= end) continue;
    int cell = static_cast<int>(Int128{start} * axis.cells / axis.length);
    for (; cell < axis.cells && axis.begin(cell) < end; ++cell) {
      const std::int64_t part =
          std::min(end, axis.begin(cell + 1)) - std::max(start, axis.begin(cell));
      if (part > 0)
        bytes[static_cast<std::size_t>(cell)] +=
            static_cast<double>(part) * link.loads[i].bytes_per_second;
    }
  }
  std::string line;
  for (int cell = 0; cell < axis.cells; ++cell) {
    const double most =
        static_cast<double>(axis.begin(cell + 1) - axis.begin(cell)) * link.capacity;
    line += load_mark(most > 0 ? bytes[static_cast<std::size_t>(cell)] / most : 0.0);
  }
  return line;
}

std::string paint(std::string line, LaneKind kind, bool colour) {
  if (!colour) return line;
  const char* code = kind == LaneKind::compute ? "32" : kind == LaneKind::link ? "90" : "36";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, line);
}

}  // namespace

std::string draw_timeline(const LaneSink& sink, const TimelineOptions& options) {
  const Duration length = sink.end() - TimePoint();
  if (length <= Duration()) return "nothing happened\n";
  const Axis axis{std::max(length, options.axis).ps(),
                  std::max(20, options.columns - name_width - 1)};
  std::string text;
  const auto line = [&](const std::string& name, const std::string& cells, LaneKind kind) {
    text += fmt::format("{:<{}.{}} {}\n", name, name_width, name_width,
                        paint(cells, kind, options.colour));
  };

  // A tick at each fifth of the axis, with the time in the unit of the whole.
  std::string ticks(static_cast<std::size_t>(axis.cells), ' ');
  constexpr int parts = 4;
  for (int part = 0; part < parts; ++part) {
    const std::string label =
        fmt::format("|{}", Duration::from_ps(axis.begin(axis.cells * part / parts)));
    const auto at = static_cast<std::size_t>(axis.cells * part / parts);
    for (std::size_t i = 0; i < label.size() && at + i < ticks.size(); ++i)
      ticks[at + i] = label[i];
  }
  text += fmt::format("{:<{}} {}\n", "", name_width, ticks);

  const std::vector<RankLanes> ranks = sink.ranks();
  int drawn = 0;
  for (const RankLanes& rank : ranks) {
    if (drawn++ == options.ranks) break;
    if (options.ranks > 1) text += fmt::format("rank {}\n", rank.rank.value());
    for (const Lane& lane : rank.lanes) line(lane.name, cells_of(lane, axis), lane.kind);
  }
  if (const auto busiest = busiest_link(sink)) {
    line("busiest link", cells_of(*busiest, axis), LaneKind::link);
    if (options.legend) {
      text += fmt::format("{:<{}} {} at {}\n", "", name_width, busiest->name,
                          Bandwidth::from_bytes_per_second(std::llround(busiest->capacity)));
    }
  }
  if (!options.legend) return text;
  text += fmt::format(
      "{:<{}} {} in all; a cell is {}, its digit the chunk, a link's its load in tenths\n", "",
      name_width, length, Duration::from_ps(axis.begin(1)));
  return text;
}

}  // namespace weft::tool
