// SPDX-License-Identifier: Apache-2.0
// A run as lanes of spans, one set for each rank: what the terminal timeline and the trace both draw.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sim/record.hpp"

namespace weft::tool {

enum class LaneKind : std::uint8_t { compute, communication, engine, nic, link };

/// One span of a lane.
struct LaneSpan {
  TimePoint start;
  TimePoint end;
  std::string label;
  std::string boundary;
  int chunk = 0;
  int ctas = 0;  ///< of SM lanes
  sim::CommandRef command{};
};

/// A lane of one rank: its SMs at work on tiles, its SMs that communicate, one of its engines.
struct Lane {
  LaneKind kind = LaneKind::compute;
  std::string name;
  std::vector<LaneSpan> spans;  ///< in order of their start
};

/// A change of a link's load.
struct LinkLoad {
  TimePoint at;
  double bytes_per_second = 0;
};
struct LinkLane {
  std::string name;
  double capacity = 0;  ///< bytes a second
  std::vector<LinkLoad> loads;
};

struct RankLanes {
  sim::RankId rank;
  std::vector<Lane> lanes;
};

/// A signal on its way.
struct SignalArrow {
  sim::RankId from;
  sim::RankId to;
  TimePoint sent;
  TimePoint seen;
  std::string label;
  sim::CommandRef poster{};
  sim::CommandRef waiter{};
};

/// Subscribes to a run and sorts what it tells into lanes.
class LaneSink : public sim::RecordSink {
 public:
  LaneSink(const sim::Machine& machine, const sim::Program& program);
  using sim::RecordSink::on;
  void on(const sim::CommandSpan& span) override;
  void on(const sim::CohortSpan& span) override;
  void on(const sim::RateChange& change) override;
  void on(const sim::SignalPosted& posted) override;
  void on(const sim::SignalSeen& seen) override;

  /// The lanes of every rank that did anything, complete after the run.
  [[nodiscard]] std::vector<RankLanes> ranks() const;
  /// The links that carried anything.
  [[nodiscard]] std::vector<LinkLane> links() const;
  /// From each post of a signal to what went on because of it.
  [[nodiscard]] const std::vector<SignalArrow>& arrows() const { return arrows_; }
  [[nodiscard]] TimePoint end() const { return end_; }

 private:
  struct Key {
    std::uint32_t rank;
    LaneKind kind;
    std::uint32_t index;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Activity = std::pair<sim::CommandRef, std::uint32_t>;

  [[nodiscard]] const sim::Command& command(const sim::CommandRef& ref) const;
  [[nodiscard]] std::optional<sim::RankId> rank_of(const sim::CommandRef& ref) const;
  [[nodiscard]] LaneSpan span_of(const sim::CommandRef& ref, TimePoint start, TimePoint end) const;
  void add_to_links(const sim::Command& call, TimePoint at, double change);
  void add_route(sim::RouteId id, TimePoint at, double change);

  /// What an activity last told: bytes a second of a transfer, or tiles a second of a range.
  struct Rate {
    double units_per_second = 0;
    std::optional<std::uint32_t> range{};
  };
  void add(const sim::CommandRef& ref, const Rate& change, TimePoint at);

  const sim::Machine& machine_;
  const sim::Program& program_;
  std::map<Key, std::vector<LaneSpan>> lanes_;
  std::map<std::uint32_t, std::vector<std::pair<TimePoint, double>>> link_changes_;
  std::map<Activity, Rate> rates_;
  std::map<std::pair<sim::CommandRef, sim::SignalId>, TimePoint>
      posted_;  // the latest of each poster
  std::vector<SignalArrow> arrows_;
  TimePoint end_;
};

/// The link that is full for longest: it says how full the wire is, and what tiles send that send as they are made.
[[nodiscard]] std::optional<LinkLane> busiest_link(const LaneSink& sink);

/// How an engine is called in a lane: "copy engine in".
[[nodiscard]] std::string engine_name(const sim::TransportEngine& engine);

}  // namespace weft::tool
