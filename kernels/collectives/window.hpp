// SPDX-License-Identifier: Apache-2.0
// How a CTA that copies through shared memory divides it: into slots of one size, so that what is under way
// is a number of slots, exactly.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::kernels {

/// A ring of slots, and how many of them may be under way: asked for and not here, or stored and not known to
/// have arrived.
struct Window {
  static constexpr int ring_bytes = 128 << 10;
  /// Smaller ones keep the thread that sends them busier than the link.
  static constexpr int least_slot = 1 << 10;
  static constexpr int most_slot = 16 << 10;
  static constexpr int most_slots = ring_bytes / least_slot;
  /// Groups of stores that one instruction can tell apart (PTX: an immediate; 16 is ours).
  static constexpr int most_stores = 16;

  int slot_bytes;
  int slots;
  int loads;
  int stores;

  /// Returns the window of at most `loads` and `stores` bytes; 0 sets no limit but the ring, and one slot may
  /// always be under way.
  static Window of(std::int64_t loads, std::int64_t stores) {
    constexpr int parts = 4;  // of fewer the oldest is waited for too long
    const auto limit = [](std::int64_t bytes) {
      return bytes > 0 ? std::min<std::int64_t>(bytes, ring_bytes) : ring_bytes;
    };
    const std::int64_t part = std::min(limit(loads), limit(stores)) / parts / 128 * 128;
    Window window{};
    window.slot_bytes = static_cast<int>(std::clamp<std::int64_t>(part, least_slot, most_slot));
    window.slots = ring_bytes / window.slot_bytes;
    const auto slots_in = [&](std::int64_t bytes, int most) {
      return static_cast<int>(std::clamp<std::int64_t>(bytes / window.slot_bytes, 1, most));
    };
    // Half of the ring is left to loads: slots that wait for their stores would otherwise hold all of it.
    window.stores = slots_in(limit(stores), std::min(window.slots / 2, most_stores));
    window.loads = slots_in(limit(loads), window.slots - window.stores);
    return window;
  }
};

}  // namespace weft::kernels
