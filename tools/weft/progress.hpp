// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how far a long command is.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace weft::tool {

/// Shows nothing in the first second, nothing where the stream is no terminal, and leaves nothing
/// behind.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  Progress(std::ostream& stream, bool terminal,
           std::function<Clock::time_point()> now = Clock::now);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces what the line says, at most ten times a second.
  void say(std::string_view text);
  void clear();

 private:
  std::ostream& stream_;
  bool terminal_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begin_;
  std::optional<Clock::time_point> shown_{};
};

}  // namespace weft::tool
