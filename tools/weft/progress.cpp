// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/progress.hpp"

#include <ostream>
#include <utility>

namespace weft::tool {
namespace {

// Anything shorter needs no progress.
constexpr std::chrono::milliseconds kQuiet{1000};
// Faster than this nobody reads.
constexpr std::chrono::milliseconds kBetween{100};
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

Progress::Progress(std::ostream& stream, bool terminal, std::function<Clock::time_point()> now)
    : stream_(stream), terminal_(terminal), now_(std::move(now)), begin_(now_()) {}

void Progress::say(std::string_view text) {
  if (!terminal_) return;
  const Clock::time_point now = now_();
  if (now - begin_ < kQuiet || (shown_ && now - *shown_ < kBetween)) return;
  stream_ << kErase << text << std::flush;
  shown_ = now;
}

void Progress::clear() {
  if (!shown_) return;
  stream_ << kErase << std::flush;
  shown_.reset();
}

}  // namespace weft::tool
