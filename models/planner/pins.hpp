// SPDX-License-Identifier: Apache-2.0
// What a user fixes over what a scenario says, on the command line and in the lock of what came of it.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "configs/reader/strict_object.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/scenario.hpp"

namespace weft::model {

struct Pins {
  std::optional<std::string> schedule;
  std::vector<std::string> knobs;  ///< "chunks=8"
  std::optional<std::string> layout;
  std::optional<std::string> fidelity;
  std::optional<std::string> cost_model;
  [[nodiscard]] bool empty() const { return *this == Pins{}; }
  friend bool operator==(const Pins&, const Pins&) = default;
};

/// A pin that the scenario has no place for, or that names what there is not.
class PinError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Changes the scenario as the pins say; throws PinError.
void apply(const Pins& pins, Scenario& scenario);

[[nodiscard]] config::Value to_value(const Pins& pins);
/// Reads the fields that to_value writes.
[[nodiscard]] Pins read_pins(config::StrictObject& object);

}  // namespace weft::model
