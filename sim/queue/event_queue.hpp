// SPDX-License-Identifier: Apache-2.0
// Which event is next? A 4-ary heap whose events can be cancelled or moved by handle.
//
// The order is the key's alone. Cancelling and moving are lazy: an entry whose ticket is no longer
// its slot's is dropped when it comes up, and an event moved to a later time keeps its entry until
// that comes up and is then sifted down. Stale entries never outnumber the pending events: the heap
// is rebuilt first. Memory is reused, so a steady state allocates nothing.
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
    slot.pending = true;
    ++pending_;
    push({key, index, ++slot.ticket});
    return {index, slot.generation};
  }

  /// Moves a pending event to another key; throws PastEventError if its time is before now().
  void reschedule(EventHandle handle, const Key& key) {
    WEFT_CHECK(pending(handle), "the event to move is no longer pending");
    if (key.time() < now_) throw PastEventError(key.time(), now_);
    Slot& slot = slots_[handle.slot];
    // The entry in the heap stands at or before slot.key: a later key waits for it to come up.
    const bool earlier = key < slot.key;
    slot.key = key;
    if (!earlier) return;
    ++stale_;
    push({key, handle.slot, ++slot.ticket});
    drop_stale();
  }

  /// Takes a pending event out; says whether it was pending.
  bool cancel(EventHandle handle) {
    if (!pending(handle)) return false;
    release(handle.slot);
    ++stale_;
    drop_stale();
    return true;
  }

  /// Returns whether the event is still to happen.
  [[nodiscard]] bool pending(EventHandle handle) const {
    return handle.slot < slots_.size() && slots_[handle.slot].pending &&
           slots_[handle.slot].generation == handle.generation;
  }

  /// Returns the first pending event's key; none if there is no event.
  [[nodiscard]] std::optional<Key> next_key() {
    if (!settle_top()) return std::nullopt;
    return heap_.front().key;
  }

  /// Returns the first pending event's time; TimePoint::max() if there is no event.
  [[nodiscard]] TimePoint next_time() {
    return settle_top() ? heap_.front().key.time() : TimePoint::max();
  }

  /// Takes out the first event if it happens at `time`, which becomes now().
  std::optional<Payload> pop_at(TimePoint time) {
    if (!settle_top() || heap_.front().key.time() != time) return std::nullopt;
    const std::uint32_t slot = heap_.front().slot;
    remove_top();
    std::optional<Payload> payload(std::move(slots_[slot].payload));
    release(slot);
    now_ = time;
    return payload;
  }

  /// Takes out the first event and moves now() to its time; none if there is no event.
  std::optional<Event> pop() {
    if (!settle_top()) return std::nullopt;
    const Entry top = heap_.front();
    remove_top();
    std::optional<Event> event(Event{top.key, std::move(slots_[top.slot].payload)});
    release(top.slot);
    now_ = top.key.time();
    return event;
  }

  [[nodiscard]] std::size_t size() const { return pending_; }
  [[nodiscard]] bool empty() const { return pending_ == 0; }
  /// Returns the time of the last event that was taken out.
  [[nodiscard]] TimePoint now() const { return now_; }

 private:
  static constexpr std::size_t kArity = 4;

  struct Slot {
    Key key;
    Payload payload;
    std::uint32_t generation = 0;
    std::uint32_t ticket = 0;
    bool pending = false;
  };
  struct Entry {
    Key key;
    std::uint32_t slot;
    std::uint32_t ticket;
  };

  [[nodiscard]] bool stale(const Entry& entry) const {
    return !slots_[entry.slot].pending || slots_[entry.slot].ticket != entry.ticket;
  }

  void release(std::uint32_t index) {
    Slot& slot = slots_[index];
    slot.pending = false;
    ++slot.generation;
    ++slot.ticket;
    --pending_;
    free_.push_back(index);
  }

  // Brings the first pending event, under its present key, to the top; says whether there is one.
  bool settle_top() {
    while (!heap_.empty()) {
      Entry& top = heap_.front();
      if (stale(top)) {
        --stale_;
        remove_top();
        continue;
      }
      const Key& key = slots_[top.slot].key;
      if (!(top.key < key)) return true;
      top.key = key;
      sift_down(0);
    }
    return false;
  }

  void push(const Entry& entry) {
    heap_.push_back(entry);
    std::size_t at = heap_.size() - 1;
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!(entry.key < heap_[parent].key)) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = entry;
  }

  void remove_top() {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(0, last);
  }

  void sift_down(std::size_t at) {
    const Entry entry = heap_[at];
    sink(at, entry);
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
        if (heap_[child].key < heap_[least].key) least = child;
      }
      if (!(heap_[least].key < entry.key)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = entry;
  }

  void drop_stale() {
    if (stale_ <= pending_ + 64) return;
    std::size_t kept = 0;
    for (const Entry& entry : heap_) {
      if (!stale(entry)) heap_[kept++] = {slots_[entry.slot].key, entry.slot, entry.ticket};
    }
    heap_.erase(heap_.begin() + static_cast<std::ptrdiff_t>(kept), heap_.end());
    for (std::size_t at = kept / kArity + 1; at-- > 0;) {
      if (at < kept) sift_down(at);
    }
    stale_ = 0;
  }

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t pending_ = 0;
  std::size_t stale_ = 0;
  TimePoint now_;
};

}  // namespace weft::sim
