// SPDX-License-Identifier: Apache-2.0
// A schedule: how one boundary's computation and communication are cut, ordered, moved and synchronised.
//
// One source file each: what it applies to, its knobs, its citation, the transfers that it makes, and how it
// expands into host calls, streams and kernels. It registers itself; the catalogue, the help, the documentation
// and the registry-wide laws come from that registration (models/schedules/registry.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/schedules/knobs.hpp"
#include "models/schedules/site.hpp"
#include "models/schedules/transfer.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

class LayerProgram;  // models/schedules/layer_program.hpp

/// ScheduleInfo::measured_in of schedules that are the library's product and collective one after the other.
inline constexpr std::string_view unfused_rows = "unfused";

struct ScheduleInfo {
  std::string name;      ///< "chunked", "te.pipeline"
  std::string system;    ///< whose it is; "weft" for the shipped kernels
  std::string summary;   ///< one sentence
  std::string citation;  ///< where its behaviour is documented
  std::vector<KnobSpec> knobs{};
  std::string applies_to{};          ///< the boundaries that it takes, in words
  std::string order{};               ///< chunks and tile order
  std::string edges{};               ///< what waits for what, and by which kind of edge
  std::string resources{};           ///< SMs, engines and switch that it uses
  std::string buffers{};             ///< what it holds beside the operands
  std::vector<std::string> rules{};  ///< its system's restrictions, in the system's own terms
  /// The families of a profile's errors (FamilyError) that its runs were measured in, by how their names begin, or
  /// unfused_rows; empty: none was.
  std::string measured_in{};
};

/// The points that a schedule's own published predictor puts forward, of all that it looked at.
struct Nomination {
  std::vector<Knobs> points;  ///< at most most_nominated, best first
  std::int64_t considered = 0;
  std::string predictor;  ///< whose it is, in words
  Duration expected;      ///< what it says the best of them takes
};
inline constexpr std::size_t most_nominated = 32;

class Schedule {
 public:
  virtual ~Schedule() = default;

  [[nodiscard]] virtual const ScheduleInfo& info() const = 0;

  /// The rules that these knobs break on this boundary and site, each as the system states it; empty: legal.
  [[nodiscard]] virtual std::vector<std::string> refusals(const Boundary& boundary,
                                                          const Knobs& knobs,
                                                          const Site& site) const = 0;

  /// Whether anything of a boundary can be communicated while anything of it is computed; if not, this is how not to
  /// overlap. Needs legal knobs.
  [[nodiscard]] virtual bool overlaps(const Boundary&, const Knobs&, const Site&) const {
    return true;
  }

  /// What is moved, for each collective of the boundary in turn. Needs legal knobs.
  [[nodiscard]] virtual std::vector<std::vector<Transfer>> transfers(const Boundary& boundary,
                                                                     const Knobs& knobs,
                                                                     const Site& site) const = 0;

  /// Appends the boundary to a layer's host threads and streams. Needs legal knobs.
  virtual void expand(const Boundary& boundary, const Knobs& knobs, const Site& site,
                      LayerProgram& program) const = 0;

  /// What the system's own predictor would try here, where it has one and its knobs are too many to try; none: every
  /// combination of the knobs' values is a point.
  [[nodiscard]] virtual std::optional<Nomination> nominate(const Boundary&, const Site&) const {
    return std::nullopt;
  }

  /// Memory that a rank holds for it beside the operands. Needs legal knobs.
  [[nodiscard]] virtual Bytes buffer_bytes(const Boundary&, const Knobs&, const Site&) const {
    return {};
  }

  /// A time that no run of these knobs can beat, proven from the schedule's own structure: unavoidable first and
  /// last chunks included, contention left out. Zero is always true.
  [[nodiscard]] virtual Duration lower_bound(const Boundary&, const Knobs&, const Site&) const {
    return {};
  }

  /// The knobs as they take effect: those that change nothing here at their defaults, so that two points with
  /// equal programs compare equal (a margin without SM transport, say).
  [[nodiscard]] virtual Knobs normalised(const Boundary& boundary, const Knobs& knobs,
                                         const Site& site) const = 0;
};

}  // namespace weft::model
