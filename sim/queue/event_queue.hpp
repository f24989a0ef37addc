// SPDX-License-Identifier: Apache-2.0
// Which event is next? A 4-ary heap whose events can be cancelled or moved by handle.
//
// The order is the key's alone. Every event knows its place in the heap, so that cancelling and
// moving cost one way up or down and the heap holds pending events only. An entry is a time and a
// slot; keys are looked at where times are equal. Memory is reused: a steady state allocates
// nothing, and a handle's generation says whether its slot has another event by now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/units/check.hpp"
#include "sim/units/time.hpp"

namespace weft::sim {

/// Names one scheduled event; stays invalid once the event has happened or was cancelled.
struct EventHandle {
  std::uint32_t slot = UINT32_MAX;
  std::uint32_t generation = 0;
  friend constexpr bool operator==(EventHandle, EventHandle) = default;
};

/// An event was scheduled before the present time: what() says both.
class PastEventError : public std::logic_error {
 public:
  PastEventError(TimePoint asked, TimePoint now);
};

/// `Key` is a total order with time(); `Payload` is what the caller gets back.
template <class Key, class Payload>
class EventQueue {
 public:
  struct Event {
    Key key;
    Payload payload;
  };

  /// Forgets all events and the time; keeps the memory that they took.
  void clear() {
    for (const Entry& entry : heap_) release(entry.slot);
    heap_.clear();
    now_ = TimePoint();
  }

  /// Adds an event; throws PastEventError if its time is before now().
  EventHandle schedule(const Key& key, Payload payload) {
    if (key.time() < now_) throw PastEventError(key.time(), now_);
    std::uint32_t index = 0;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    Slot& slot = slots_[index];
    slot.key = key;
    slot.payload = std::move(payload);
    heap_.emplace_back();
    rise(heap_.size() - 1, {key.time(), index});
    return {index, slot.generation};
  }

  /// Moves a pending event to another key; throws PastEventError if its time is before now().
  void reschedule(EventHandle handle, const Key& key) {
    WEFT_CHECK(pending(handle), "the event to move is no longer pending");
    if (key.time() < now_) throw PastEventError(key.time(), now_);
    Slot& slot = slots_[handle.slot];
    const bool earlier = key < slot.key;
    slot.key = key;
    const Entry entry{key.time(), handle.slot};
    if (earlier) {
      rise(slot.place, entry);
    } else {
      sink(slot.place, entry);
    }
  }

  /// Takes a pending event out; says whether it was pending.
  bool cancel(EventHandle handle) {
    if (!pending(handle)) return false;
    const std::size_t hole = slots_[handle.slot].place;
    release(handle.slot);
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return true;
    if (hole > 0 && before(last, heap_[(hole - 1) / kArity])) {
      rise(hole, last);
    } else {
      sink(hole, last);
    }
    return true;
  }

  /// Returns whether the event is still to happen.
  [[nodiscard]] bool pending(EventHandle handle) const {
    return handle.slot < slots_.size() && slots_[handle.slot].generation == handle.generation &&
           slots_[handle.slot].place != kNowhere;
  }

  /// Returns the first pending event's key; none if there is no event.
  [[nodiscard]] std::optional<Key> next_key() const {
    if (heap_.empty()) return std::nullopt;
    return slots_[heap_.front().slot].key;
  }

  /// Returns the first pending event's time; TimePoint::max() if there is no event.
  [[nodiscard]] TimePoint next_time() const {
    return heap_.empty() ? TimePoint::max() : heap_.front().time;
  }

  /// Takes out the first event if it happens at `time`, which becomes now().
  std::optional<Payload> pop_at(TimePoint time) {
    if (heap_.empty() || heap_.front().time != time) return std::nullopt;
    return take_first();
  }

  /// Takes out the first event and moves now() to its time; none if there is no event.
  std::optional<Event> pop() {
    if (heap_.empty()) return std::nullopt;
    const Key key = slots_[heap_.front().slot].key;
    return Event{key, take_first()};
  }

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Returns the time of the last event that was taken out.
  [[nodiscard]] TimePoint now() const { return now_; }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  struct Slot {
    Key key;
    Payload payload;
    std::uint32_t generation = 0;
    std::uint32_t place = kNowhere;  // in the heap
  };
  struct Entry {
    TimePoint time;
    std::uint32_t slot = 0;
  };

  [[nodiscard]] bool before(const Entry& a, const Entry& b) const {
    if (a.time != b.time) return a.time < b.time;
    return slots_[a.slot].key < slots_[b.slot].key;
  }

  Payload take_first() {
    const Entry first = heap_.front();
    now_ = first.time;
    Payload payload = std::move(slots_[first.slot].payload);
    release(first.slot);
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(0, last);
    return payload;
  }

  void release(std::uint32_t index) {
    Slot& slot = slots_[index];
    slot.place = kNowhere;
    ++slot.generation;
    free_.push_back(index);
  }

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    slots_[entry.slot].place = static_cast<std::uint32_t>(at);
  }

  // Puts an entry into the hole at `at`, or above.
  void rise(std::size_t at, const Entry& entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(entry, heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }

  // Puts an entry into the hole at `at`, or below.
  void sink(std::size_t at, const Entry& entry) {
    const std::size_t size = heap_.size();
    for (;;) {
      const std::size_t first = kArity * at + 1;
      if (first >= size) break;
      const std::size_t end = first + kArity < size ? first + kArity : size;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  TimePoint now_;
};

}  // namespace weft::sim
