// SPDX-License-Identifier: Apache-2.0
#include "models/planner/intervals.hpp"

#include <algorithm>
#include <variant>

namespace weft::model {

void IntervalSet::add(TimePoint start, TimePoint end) {
  if (start < end) intervals_.emplace_back(start, end);
}

std::vector<IntervalSet::Interval> IntervalSet::merged() const {
  std::vector<Interval> sorted = intervals_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Interval> result;
  for (const Interval& interval : sorted) {
    if (!result.empty() && interval.first <= result.back().second) {
      result.back().second = std::max(result.back().second, interval.second);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

Duration IntervalSet::length() const {
  Duration sum;
  for (const auto& [start, end] : merged()) sum += end - start;
  return sum;
}

std::optional<TimePoint> IntervalSet::begin() const {
  if (intervals_.empty()) return std::nullopt;
  return std::min_element(intervals_.begin(), intervals_.end())->first;
}

std::optional<TimePoint> IntervalSet::end() const {
  if (intervals_.empty()) return std::nullopt;
  return std::max_element(intervals_.begin(), intervals_.end(),
                          [](const Interval& a, const Interval& b) { return a.second < b.second; })
      ->second;
}

Duration IntervalSet::overlap(const IntervalSet& other) const {
  const std::vector<Interval> mine = merged(), theirs = other.merged();
  Duration sum;
  auto a = mine.begin();
  auto b = theirs.begin();
  while (a != mine.end() && b != theirs.end()) {
    const TimePoint start = std::max(a->first, b->first), end = std::min(a->second, b->second);
    if (start < end) sum += end - start;
    (a->second < b->second ? a : b)++;
  }
  return sum;
}

const sim::Command& PurposeIntervals::command(const sim::CommandRef& ref) const {
  const sim::Command& call = program_.threads.at(ref.thread).commands.at(ref.index);
  const auto* graph = std::get_if<sim::GraphLaunch>(&call.call);
  return graph == nullptr ? call
                          : program_.graphs.at(graph->graph.value()).commands.at(ref.in_graph);
}

void PurposeIntervals::on(const sim::CommandSpan& span) {
  if (!span.stream || program_.streams.at(span.stream->value()).rank != rank_) return;
  const sim::Command& call = command(span.command);
  const bool moves = std::holds_alternative<sim::Copy>(call.call) ||
                     std::holds_alternative<sim::Message>(call.call);
  const auto* launch = std::get_if<sim::Launch>(&call.call);
  const bool gang =
      launch != nullptr && program_.kernels.at(launch->kernel.value()).gang.has_value();
  if (moves || gang) communication_.add(span.start, span.end);
}

bool PurposeIntervals::moves_bytes(const sim::TileRange& range) const {
  const auto first = program_.traffic.begin() + range.traffic.first;
  return std::any_of(first, first + range.traffic.count, [](const sim::Traffic& traffic) {
    return traffic.on == sim::Traffic::On::route;
  });
}

void PurposeIntervals::on(const sim::CohortSpan& span) {
  if (span.rank != rank_ || span.tiles_per_cta == 0) return;
  const sim::Purpose purpose = program_.roles.at(span.role).purpose;
  if (purpose == sim::Purpose::compute) compute_.add(span.start, span.end);
  if (purpose == sim::Purpose::communication || moves_bytes(program_.ranges.at(span.range)))
    communication_.add(span.start, span.end);
}

double PurposeIntervals::covered_ratio() const {
  const Duration all = communication_.length();
  return all == Duration() ? 0.0 : ratio(communication_.overlap(compute_), all);
}

}  // namespace weft::model
