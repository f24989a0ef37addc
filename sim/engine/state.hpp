// SPDX-License-Identifier: Apache-2.0
// What changes during a run: the state of streams, queues, servers, kernels, crews and flows.
//
// Everything that comes and goes lives in a pool of reused slots and is named by its index.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/compiled.hpp"
#include "sim/engine/sm_pool.hpp"
#include "sim/queue/event_key.hpp"
#include "sim/queue/event_queue.hpp"
#include "sim/solver/fair_share.hpp"

namespace weft::sim::engine {

/// Reused slots: `take` gives an index whose content is default or what its last user left
/// (vectors keep their memory), `give_back` returns it.
template <class T>
class SlotPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size()) - 1;
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) { free_.push_back(index); }
  /// Frees every slot; they are taken in the order of a new pool.
  void free_all() {
    free_.resize(slots_.size());
    for (std::size_t i = 0; i < free_.size(); ++i) {
      free_[i] = static_cast<std::uint32_t>(free_.size() - 1 - i);
    }
  }
  /// Forgets every slot.
  void clear() {
    slots_.clear();
    free_.clear();
  }
  /// Linear in the slots that are free: for reports.
  [[nodiscard]] bool in_use(std::uint32_t index) const {
    return std::find(free_.begin(), free_.end(), index) == free_.end();
  }
  T& operator[](std::uint32_t index) { return slots_[index]; }
  const T& operator[](std::uint32_t index) const { return slots_[index]; }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  std::vector<T> slots_;
  std::vector<std::uint32_t> free_;
};

struct SegmentState {
  bool active = false;
  std::int64_t base = 0;
};

/// A record of an event: when it was reached, and who waits for it.
struct RecordState {
  std::int64_t at = -1;  ///< not yet reached
  std::uint32_t stream = kNone;
  std::uint32_t command = kNone;
  std::uint32_t first_queue = kNone;    ///< waiting; linked by QueueState::next_waiter
  std::uint32_t first_segment = kNone;  ///< waiting; linked by Simulation::segment_next_
};

struct StreamState {
  std::uint32_t outstanding = 0;
  std::uint32_t last_run = kNone;  ///< the kernel run that was dispatched last, while it runs
  bool last_triggered = false;     ///< a programmatic successor may start
  std::int64_t turn = 0;
};

struct QueueState {
  enum class Wait : std::uint8_t { nothing, record, view, time } wait = Wait::nothing;
  bool dirty = false;
  std::uint32_t next_waiter = kNone;
  std::int64_t wake_at = -1;
  std::int64_t head_since = 0;
  bool late = false;  ///< what its head waits for was not there when it looked first
};

/// A copy or a message in flight.
struct Transfer {
  std::uint32_t command = kNone;
  std::uint32_t flow = kNone;
  std::int64_t turn = 0;
  std::int64_t dispatched = 0;
  std::int64_t granted = 0;
  std::int64_t first_byte = 0;
};

struct Server {
  int free = 0;
  bool dirty = false;
  std::vector<std::uint32_t> waiting;  ///< transfers, first to go last
};

/// The pipes of an SM that its CTAs share: tensor, issue, load/store.
inline constexpr std::size_t kPipes = 3;

/// SMs of a pool that hold the same CTAs, which can ask more of a pipe than there is.
struct SmClass {
  std::vector<Resident> residents;
  int sms = 0;
  std::array<int, kPipes> peak{};                               ///< thousandths of an SM
  std::array<std::uint32_t, kPipes> pipe{kNone, kNone, kNone};  ///< resources of the solver
};

/// Progress of something that shares resources.
struct Flow {
  enum class Owner : std::uint8_t { transfer, crew, gang } owner = Owner::transfer;
  std::uint32_t of = kNone;
  ActivityId activity{0};
  Progress progress;
  std::uint64_t rest = 0;  ///< its next event is when this much is left
  EventHandle event;
  EventKey key;  ///< of its end, at no particular time
};

/// CTAs of a kernel that were placed at the same moment.
struct Batch {
  std::uint32_t run = kNone;
  int ctas = 0;
  std::int64_t since = 0;
  std::uint32_t sm_class = kNone;  ///< of its pool, where its SMs are contended
};

struct KernelRun {
  std::uint32_t command = kNone;
  std::uint32_t kernel = 0;
  std::uint32_t stream = 0;
  std::uint32_t pool = 0;
  int ctas = 0;
  int placed = 0;
  int ended = 0;
  bool single_role = true;          ///< of each CTA: it ends with the role
  bool held = false;                ///< its first tiles wait for the predecessor's end
  std::uint32_t successor = kNone;  ///< a programmatic launch that waits for this one's end
  std::uint32_t gang = kNone;       ///< gang run
  std::uint32_t behind = kNone;     ///< a race is decided so that this run goes after that one
  std::int64_t turn = 0;
  std::int64_t dispatched = 0;
  std::int64_t ready = 0;
  std::int64_t first_start = -1;
  std::vector<std::uint32_t> roles;      ///< role runs
  std::vector<std::uint8_t> roles_left;  ///< by CTA, unless single_role
  std::vector<std::uint32_t> held_crews;
  std::vector<std::uint32_t> batches;    ///< of a gang's member
  std::vector<std::uint32_t> followers;  ///< runs that are ready and go behind this one
};

struct RoleRun {
  std::uint32_t run = kNone;
  std::uint32_t role = 0;
  std::int64_t first_cta = 0;  ///< of the grid
  std::int64_t ctas = 0;
  std::int64_t tiles = 0;
  std::int64_t next_tile = 0;    ///< counter
  std::int64_t tiles_taken = 0;  ///< own_then_counter
  std::int64_t tiles_done = 0;
  bool dirty = false;
  std::uint32_t fluid_crew = kNone;     ///< the one crew of a role whose work is fluid
  bool begun = false;                   ///< a CTA of it may work
  std::int64_t gone = 0;                ///< CTAs that have left
  std::vector<std::uint32_t> empty;     ///< ranges without a tile whose posts are still to come
  std::vector<std::int64_t> left;       ///< tiles to complete, by range
  std::vector<std::int64_t> untaken;    ///< tiles to take, by range (ready_first)
  std::vector<std::uint8_t> satisfied;  ///< its waits, by range
  std::vector<std::uint32_t> idle;      ///< crews without work
  std::vector<std::uint32_t> parked;    ///< crews that wait for any range to become ready
  std::vector<std::pair<std::uint32_t, std::int64_t>> batches;  ///< and CTAs, of the fluid crew
};

/// CTAs of one role in the same situation: the cohort. [first, first + ctas) of the role.
struct Crew {
  enum class State : std::uint8_t {
    idle,
    prologue,
    working,
    waiting,
    confirming,
    gone
  } state = State::idle;
  std::uint32_t role_run = kNone;
  std::uint32_t batch = kNone;
  std::int64_t first = 0;
  std::int64_t ctas = 0;
  std::int64_t wave = 0;
  std::uint32_t range = 0;  ///< in its role
  std::int64_t first_tile = 0;
  std::int64_t tiles_per_cta = 0;
  std::int64_t since = 0;
  std::uint32_t flow = kNone;
  std::uint32_t spin = kNone;    ///< the activity of its spinning on contended SMs
  std::int64_t slowdown = 1000;  ///< by interference, in thousandths
};

struct Waiter {
  enum class Kind : std::uint8_t { queue, crew, role } kind = Kind::queue;
  std::uint32_t of = kNone;
  std::uint64_t at_least = 0;
};

struct ViewState {
  std::uint64_t value = 0;
  std::int64_t at = 0;                ///< when it changed last
  std::uint32_t last_poster = kNone;  ///< command
  std::vector<Waiter> waiters;
};

/// A post on its way to a view.
struct Arrival {
  SignalPost::Kind kind = SignalPost::Kind::add;
  std::uint32_t view = 0;
  std::uint64_t value = 0;
  std::uint32_t poster = kNone;
};

struct GangRun {
  std::uint32_t gang = 0;
  std::uint32_t arrived = 0;
  std::uint32_t flow = kNone;
  int chunk = 0;  ///< that is being moved
  bool moving = false;
  std::int64_t since = 0;
  std::vector<std::uint32_t> runs;  ///< by member; kNone: not resident yet
};

struct Pool {
  SmPool sms;
  std::uint32_t device = 0;
  std::uint32_t owner = kNone;  ///< exclusive engines: the run that has it
  bool dirty = false;
  bool own = false;                      ///< made for one run
  std::vector<std::uint32_t> pending;    ///< runs with CTAs to place, first to go first
  std::vector<SmClass> classes;          ///< of contended SMs
  bool changed = false;                  ///< its residents, since the classes were found
  std::vector<std::uint32_t> launching;  ///< runs that will be ready
};

/// What happens at an event, and to whom.
struct Happening {
  enum class What : std::uint8_t {
    queue_wake,
    kernel_ready,
    kernel_complete,
    prologue_end,
    crew_end,
    flow_end,
    transfer_setup_end,
    transfer_arrival,
    memory_op_end,
    message_arrival,
    signal_arrival,
    gang_start,
  } what = What::queue_wake;
  std::uint32_t of = 0;
};

}  // namespace weft::sim::engine
