// SPDX-License-Identifier: Apache-2.0
// When a rank computed and when it communicated, as unions of intervals: what overlaps is counted once.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/program.hpp"
#include "sim/record.hpp"

namespace weft::model {

/// A union of half-open intervals of time.
class IntervalSet {
 public:
  void add(TimePoint start, TimePoint end);
  /// Sum of the union's lengths.
  [[nodiscard]] Duration length() const;
  /// Where the union begins and ends; none if it is empty.
  [[nodiscard]] std::optional<TimePoint> begin() const;
  [[nodiscard]] std::optional<TimePoint> end() const;
  /// Length of what both cover.
  [[nodiscard]] Duration overlap(const IntervalSet& other) const;

 private:
  using Interval = std::pair<TimePoint, TimePoint>;
  [[nodiscard]] std::vector<Interval> merged() const;
  std::vector<Interval> intervals_;
};

/// Subscribes to a run and keeps one rank's intervals. Compute is time in which its CTAs work on tiles;
/// communication is the life of its copies, messages, gang members, communication CTAs and tiles that are sent as they
/// are made.
class PurposeIntervals : public sim::RecordSink {
 public:
  PurposeIntervals(const sim::Program& program, sim::RankId rank)
      : program_(program), rank_(rank) {}
  using sim::RecordSink::on;
  void on(const sim::CommandSpan& span) override;
  void on(const sim::CohortSpan& span) override;
  /// Share of the communication that lies under compute; 0 if there is none.
  [[nodiscard]] double covered_ratio() const;
  [[nodiscard]] const IntervalSet& compute() const { return compute_; }
  [[nodiscard]] const IntervalSet& communication() const { return communication_; }

 private:
  [[nodiscard]] bool moves_bytes(const sim::TileRange& range) const;
  [[nodiscard]] const sim::Command& command(const sim::CommandRef& ref) const;
  const sim::Program& program_;
  sim::RankId rank_;
  IntervalSet compute_;
  IntervalSet communication_;
};

}  // namespace weft::model
