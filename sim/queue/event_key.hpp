// SPDX-License-Identifier: Apache-2.0
// When, and before which others of the same moment, an event happens.
#pragma once

#include <cstdint>

#include "sim/units/check.hpp"
#include "sim/units/time.hpp"

namespace weft::sim {

/// At one moment what finishes comes before what starts, and observers see the result.
enum class Phase : std::uint8_t { finish, start, observe };

/// Where an event stands in the machine and the program.
struct EventPlace {
  Phase phase = Phase::finish;
  std::uint32_t device = 0;  ///< below 2^22
  int stream_priority = 0;   ///< -128..127, larger goes first
  std::uint32_t stream = 0;
  std::uint32_t command = 0;
  std::uint32_t range = 0;
  friend constexpr bool operator==(const EventPlace&, const EventPlace&) = default;
};

/// The total order of events: (time, phase, device, stream priority, stream, command, range). Two
/// pending events never share a key, so that the order of scheduling decides nothing.
class EventKey {
 public:
  constexpr EventKey() = default;
  EventKey(TimePoint time, const EventPlace& place)
      : time_(time),
        high_((std::uint64_t{static_cast<std::uint8_t>(place.phase)} << 62) |
              (std::uint64_t{place.device} << 40) |
              (static_cast<std::uint64_t>(127 - place.stream_priority) << 32) | place.stream),
        low_((std::uint64_t{place.command} << 32) | place.range) {
    WEFT_CHECK(place.device < (1U << 22), "device {} in an event's key", place.device);
    WEFT_CHECK(place.stream_priority >= -128 && place.stream_priority <= 127,
               "a stream priority of {}", place.stream_priority);
  }

  /// A place on a stream whose part of the key is known (stream_part()).
  constexpr EventKey(TimePoint time, Phase phase, std::uint64_t stream_part, std::uint32_t command,
                     std::uint32_t range)
      : time_(time),
        high_((std::uint64_t{static_cast<std::uint8_t>(phase)} << 62) | stream_part),
        low_((std::uint64_t{command} << 32) | range) {}

  /// Returns what a device, priority and stream add to a key.
  static std::uint64_t stream_part(std::uint32_t device, int stream_priority,
                                   std::uint32_t stream) {
    return EventKey(TimePoint(),
                    {.device = device, .stream_priority = stream_priority, .stream = stream})
        .high_;
  }

  /// Returns when the event happens.
  [[nodiscard]] constexpr TimePoint time() const { return time_; }
  /// Returns the same place at another time.
  [[nodiscard]] constexpr EventKey at(TimePoint time) const {
    EventKey moved = *this;
    moved.time_ = time;
    return moved;
  }

  friend constexpr bool operator==(const EventKey&, const EventKey&) = default;
  friend constexpr bool operator<(const EventKey& a, const EventKey& b) {
    if (a.time_ != b.time_) return a.time_ < b.time_;
    return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_;
  }

 private:
  TimePoint time_;
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

}  // namespace weft::sim
