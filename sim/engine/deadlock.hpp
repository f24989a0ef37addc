// SPDX-License-Identifier: Apache-2.0
// Why can nothing go on? Follows from each command that is left to those that it waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

/// Reads a simulation that has stopped with commands left.
class DeadlockReport {
 public:
  explicit DeadlockReport(const Simulation& simulation);
  /// Returns the cycle (or the first wait that nothing can end), who holds the SMs, and the margin
  /// that would break it.
  [[nodiscard]] std::string text();

 private:
  /// One reason why `waiter` cannot go on: it needs `on` (none: nothing can help).
  struct Need {
    std::uint32_t waiter = kNone;
    std::optional<std::uint32_t> on;
    std::string why;
    bool for_sms = false;
  };

  void list_state();
  void needs_of(std::uint32_t command, std::vector<Need>& needs) const;
  void needs_of_head(std::uint32_t command, std::vector<Need>& needs) const;
  void needs_of_run(std::uint32_t slot, std::vector<Need>& needs) const;
  void need_posters(std::uint32_t command, SignalId signal, std::uint64_t value,
                    std::uint64_t at_least, std::vector<Need>& needs) const;
  void need_sms(std::uint32_t slot, std::vector<Need>& needs) const;
  void need_members(std::uint32_t slot, std::vector<Need>& needs) const;
  [[nodiscard]] bool posts(std::uint32_t command, SignalId signal) const;
  bool follow(std::uint32_t command);
  [[nodiscard]] std::string name(std::uint32_t command) const;
  [[nodiscard]] std::string margin(std::uint32_t poster) const;

  const Simulation& s_;
  std::vector<std::uint32_t> left_;        // commands not complete, in order
  std::vector<bool> is_left_;              // by command
  std::vector<std::uint32_t> run_of_;      // by command; kNone: not dispatched
  std::vector<std::uint32_t> queue_head_;  // by queue: the command at its head
  std::vector<std::uint32_t> record_of_;   // by record: the command that makes it
  std::vector<std::uint8_t> colour_;       // by command: 0 new, 1 on the path, 2 done
  std::vector<Need> path_;
  std::vector<Need> cycle_;
  std::vector<Need> dead_ends_;
};

}  // namespace weft::sim::engine
