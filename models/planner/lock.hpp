// SPDX-License-Identifier: Apache-2.0
// The picks of a plan as a file (weft.lock/1), and what has changed since it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/search_path.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/pins.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

struct LockedPick {
  std::string boundary;
  std::string schedule;
  Knobs knobs;
  Duration overlapped;  ///< D when it was locked
  Duration exposed;
  friend bool operator==(const LockedPick&, const LockedPick&) = default;
};

struct Lock {
  std::string scenario;  ///< file, relative to the lock
  Pins pins;             ///< over what the scenario says
  std::string layout;    ///< as --layout takes it; empty for a boundary
  std::vector<LockedPick> picks;
  Duration exposed;  ///< of the whole step
  Duration step;
  /// Fingerprints of what the plan was made from, by part; empty in a lock that does not say.
  std::vector<std::pair<std::string, std::string>> config;
  friend bool operator==(const Lock&, const Lock&) = default;
};

/// The lock of a plan's best layout, for a file at `place`; `pins` are those that the plan was made with.
[[nodiscard]] Lock lock_of(const Plan& plan, const std::filesystem::path& place,
                           const Pins& pins = {});
[[nodiscard]] config::Value to_value(const Lock& lock);
/// Reads a lock and resolves its scenario; throws config::ConfigErrors.
[[nodiscard]] Lock read_lock(const std::filesystem::path& file, const config::SearchPath& search);
/// The same of a document; its scenario is looked up beside its name.
[[nodiscard]] Lock read_lock(const config::Document& document, const config::SearchPath& search);
[[nodiscard]] config::TypeDescription describe_lock();

/// What became of one locked pick.
struct CheckedPick {
  std::string boundary;
  bool flipped = false;
  bool regressed = false;  ///< exposed time grew beyond the error band
  std::string sentence;    ///< what happened, why, and what it costs
  [[nodiscard]] bool failed() const { return flipped || regressed; }
};
struct CheckResult {
  std::vector<CheckedPick> picks;
  bool layout_flipped = false;
  std::string layout_sentence;
  std::string
      since;  ///< what changed since the lock was written, in words; empty if the lock cannot tell
  std::string config_hash;  ///< of what was planned now
  [[nodiscard]] bool failed() const;
};

/// Plans the lock's scenario again and compares.
[[nodiscard]] CheckResult check(const Lock& lock, const config::SearchPath& search,
                                const PlanOptions& options);

}  // namespace weft::model
