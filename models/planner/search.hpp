// SPDX-License-Identifier: Apache-2.0
// The best schedule and knobs of one boundary: every legal point is simulated, equal to a simulated one after
// normalisation, or excluded by a proven bound.
//
//   space = simulated + equivalent + pruned
//
// Points are taken in order of their bound, in batches of a fixed size; what is the best so far changes between
// batches only, so that counts and results do not depend on threads. A point is pruned when its bound passes the
// tenth best time: pick and top ten are those of the exhaustive search.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/planner/evaluate.hpp"
#include "models/planner/figures.hpp"

namespace weft::model {

struct SearchOptions {
  bool exhaustive =
      false;             ///< bounds off: every point that is not an equal of another is simulated
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::vector<std::string> schedules;  ///< to choose from; empty: all
  Knobs fixed;                         ///< knobs that are pinned, where a schedule has them
  /// Called between batches with points done and points in all; returning false stops the search (SearchStopped).
  std::function<bool(std::int64_t, std::int64_t)> progress;
};

class SearchStopped : public std::runtime_error {
 public:
  SearchStopped() : std::runtime_error("stopped") {}
};

/// How much of a space was looked at, and how.
struct SearchCount {
  std::int64_t space = 0;
  std::int64_t simulated = 0;
  std::int64_t equivalent = 0;
  std::int64_t pruned = 0;
  SearchCount& operator+=(const SearchCount& other);
  friend bool operator==(const SearchCount&, const SearchCount&) = default;
};

/// A simulated point.
struct Candidate {
  ScheduleChoice choice;
  Figures figures;        ///< D and its modes
  bool overlaps = false;  ///< whether anything is communicated while anything is computed
};

/// How many points a schedule's own predictor looked at, and how many of them were taken.
struct NominationCount {
  std::string schedule;
  std::string predictor;
  std::int64_t considered = 0;
  std::int64_t taken = 0;
  Duration expected;  ///< what it says its favourite takes
};

struct BoundarySearch {
  std::vector<Candidate>
      best;          ///< at most ten, best first; ties by the catalogue's order, serial before all
  Candidate serial;  ///< the unfused one
  /// The best that overlaps, also where ten others are better; none where none was simulated.
  std::optional<Candidate> best_overlapping;
  /// Legal points that overlap, each with its equals: simulated or pruned.
  std::int64_t overlapping = 0;
  SearchCount count;
  std::vector<NominationCount> nominations;
  /// Points that a rule refuses are no part of the space: how many, and the rule met most often.
  std::int64_t illegal = 0;
  std::string most_common_refusal;
  /// Points whose program cannot end, with the first report: never to be picked.
  std::int64_t deadlocks = 0;
  std::string first_deadlock;
};

/// Searches one boundary on one site.
[[nodiscard]] BoundarySearch search(const Boundary& boundary, const Site& site,
                                    const sim::Effects& effects, const SearchOptions& options = {});

}  // namespace weft::model
