// SPDX-License-Identifier: Apache-2.0
// Planning as the subcommands do it: with progress on a terminal, and stopped by Ctrl-C.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "models/planner/plan.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

struct Planning {
  unsigned threads = 0;
  bool exhaustive = false;
  bool explain = false;
  std::vector<std::string> schedules{};  ///< that a boundary alone may be run by; empty: all
};

[[nodiscard]] model::Plan run_plan(const model::Scenario& scenario, const Planning& planning,
                                   Context& context);

/// A plan without a layout that fits: a result, with every layout's shortfall, that ends with exit code 1.
struct NothingFits : std::exception {
  explicit NothingFits(model::Plan of) : plan(std::move(of)) {}
  [[nodiscard]] const char* what() const noexcept override { return "nothing fits"; }
  model::Plan plan;
};

}  // namespace weft::tool
