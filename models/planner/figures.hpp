// SPDX-License-Identifier: Apache-2.0
// The figures that a user gets, for a boundary and for a layer (docs/figures.md).
//
//   A    the best unfused library compute on all SMs          A_s  the schedule's own compute, nothing communicated
//   B    the best unfused collective alone                    B_s  the schedule's own communication, no tile work
//   C    A then B, with launches and synchronisation          D    the schedule
//
// exposed = D - A = (A_s - A) + (D - A_s);  hidden = 1 - (D - A) / B;  speed-up = C / D. They are what they are:
// negative and above one included. covered is how much of the communication's interval lies under compute.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/profile/source.hpp"
#include "models/schedules/knobs.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/time.hpp"

namespace weft::model {

/// One way that a run can go, and how often it does.
struct ModeFigures {
  double share = 1;
  Duration overlapped;  ///< D in this mode
  friend bool operator==(const ModeFigures&, const ModeFigures&) = default;
};

struct Figures {
  Duration compute_only;                 ///< A
  Duration communication_only;           ///< B
  Duration serial;                       ///< C
  Duration overlapped;                   ///< D of the worse mode
  Duration schedule_compute_only;        ///< A_s
  Duration schedule_communication_only;  ///< B_s
  double covered_ratio = 0;  ///< of the communication's interval, under compute; 0 if there is none
  std::vector<ModeFigures> modes;    ///< at least one, the worse last
  std::size_t unresolved_races = 0;  ///< kinds of race whose combinations were not all run

  [[nodiscard]] Duration exposed() const { return overlapped - compute_only; }
  /// None where there is no communication to hide.
  [[nodiscard]] std::optional<double> hidden_ratio() const {
    if (communication_only == Duration()) return std::nullopt;
    return 1.0 - ratio(exposed(), communication_only);
  }
  /// None for an empty boundary.
  [[nodiscard]] std::optional<double> speedup() const {
    if (overlapped == Duration()) return std::nullopt;
    return ratio(serial, overlapped);
  }
  friend bool operator==(const Figures&, const Figures&) = default;
};

/// A boundary under one schedule.
struct BoundaryFigures {
  std::string boundary;
  std::string schedule;
  Knobs knobs;
  Figures figures;
  friend bool operator==(const BoundaryFigures&, const BoundaryFigures&) = default;
};

/// Where exposed time comes from (docs/figures.md): the Shapley mean over switches of the engine. The parts sum to
/// D - A exactly; a negative part is a gain.
struct Attribution {
  struct Part {
    std::string
        effect;  ///< chunking, residency, sm_share, hbm_share, link_share, transport, launch_and_sync, imbalance
    Duration time;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;
  /// The transport part again, by where its stalls lie: fill, drain, link_bound.
  std::vector<Part> transport;
  friend bool operator==(const Attribution&, const Attribution&) = default;
};

/// In nine of ten cases like it, what is measured lies from `low` to `high` times a prediction.
struct ErrorBand {
  double low = 1, high = 1;
  std::string family;  ///< of the profile's errors that it is from; empty: not known
  Source source;       ///< what is known of that family, or of what is unlike it here
  [[nodiscard]] bool known() const { return !family.empty(); }
  /// The ends of a predicted time.
  [[nodiscard]] Duration least(Duration predicted) const { return times(low, predicted); }
  [[nodiscard]] Duration most(Duration predicted) const { return times(high, predicted); }
  /// The farther of both ends.
  [[nodiscard]] double fraction() const { return std::max(1 - low, high - 1); }
  friend bool operator==(const ErrorBand&, const ErrorBand&) = default;

 private:
  static Duration times(double factor, Duration time) {
    return Duration::from_ps(std::llround(factor * static_cast<double>(time.ps())));
  }
};

}  // namespace weft::model
