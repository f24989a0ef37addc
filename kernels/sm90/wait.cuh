// SPDX-License-Identifier: Apache-2.0
// Waits for flags that end, one way or the other; posts; the pace that CTAs of a launch keep
// together.
#pragma once

#include "kernels/sm90/control.cuh"
#include "kernels/sm90/ptx.cuh"

namespace weft::kernels {

/// Spends the injected delay of a test, if this is its point and chunk.
__device__ __forceinline__ void hold(const Coordination& c, HoldPoint point, int chunk) {
  if (c.hold_point != point || (c.hold_chunk >= 0 && c.hold_chunk != chunk)) return;
  const std::uint64_t start = ptx::nanoseconds();
  while (static_cast<std::int64_t>(ptx::nanoseconds() - start) < c.hold_ns) __nanosleep(1'000);
}

/// Returns the sequence number of this launch.
__device__ __forceinline__ Signal sequence_of(const Coordination& c) {
  return c.sequence + ptx::load_relaxed(&c.control->phase);
}

/// Returns whether a wait of this workspace has expired.
__device__ __forceinline__ bool aborted(const Coordination& c) {
  return ptx::load_relaxed(&c.control->aborted) != 0;
}

/// Leaves the record of an expired wait; the first one stays.
inline __device__ __noinline__ void report(const Coordination& c, WaitKind kind, int source,
                                           int chunk, Signal expected, Signal seen,
                                           std::int64_t waited_ns) {
  if (atomicCAS(&c.control->aborted, 0u, 1u) != 0u) return;
  volatile WaitRecord* record = c.record;
  record->kind = static_cast<std::uint32_t>(kind);
  record->rank = c.rank;
  record->cta = static_cast<int>(blockIdx.x);
  record->source = source;
  record->chunk = chunk;
  record->expected = expected;
  record->seen = seen;
  record->waited_ns = waited_ns;
  ptx::store_release(&c.record->ready, 1);
}

/// Waits until `flag` has reached `expected`; after the budget, or once another wait has expired,
/// gives up. Acquires at system scope. By one thread.
__device__ __forceinline__ bool wait_for(const Coordination& c, const Signal* flag, Signal expected,
                                         WaitKind kind, int source, int chunk) {
  Signal seen = ptx::load_acquire(flag);
  if (static_cast<std::int32_t>(seen - expected) >= 0) return true;
  const std::uint64_t start = ptx::nanoseconds();
  for (unsigned polls = 1;; ++polls) {
    __nanosleep(32);
    seen = ptx::load_acquire(flag);
    if (static_cast<std::int32_t>(seen - expected) >= 0) return true;
    if (polls % 64 != 0) continue;
    if (aborted(c)) return false;
    const std::int64_t waited = static_cast<std::int64_t>(ptx::nanoseconds() - start);
    if (waited > c.budget_ns) {
      report(c, kind, source, chunk, expected, seen, waited);
      return false;
    }
  }
}

/// Posts `value`, after what this thread has observed or written; nothing once a wait has expired.
__device__ __forceinline__ void post(const Coordination& c, Signal* flag, Signal value, int chunk) {
  hold(c, HoldPoint::before_post, chunk);
  if (!aborted(c)) ptx::store_release(flag, value);
}

/// Waits for the turn of `bytes` at the pace that all CTAs of the workspace share. By one thread.
__device__ __forceinline__ void keep_pace(const Coordination& c, std::int64_t bytes) {
  if (c.pace_per_mib == 0) return;
  const auto cost =
      static_cast<unsigned long long>(static_cast<std::uint64_t>(bytes) * c.pace_per_mib >> 20);
  // Time that nobody used is not saved up.
  atomicMax(&c.control->pace, static_cast<unsigned long long>(4 * ptx::nanoseconds()));
  const std::uint64_t turn = atomicAdd(&c.control->pace, cost);
  while (static_cast<std::int64_t>(4 * ptx::nanoseconds() - turn) < 0) __nanosleep(64);
}

/// Counts this CTA as gone; the last one prepares the workspace for the next launch. By one thread, after a
/// barrier that every thread of the CTA which used the workspace has reached with its answers: nobody
/// has a read left that the reset could overtake, and what a CTA wrote the end of the launch publishes.
__device__ __forceinline__ void leave(const Coordination& c) {
  if (ptx::count_up_relaxed(&c.control->left, gridDim.x - 1) != gridDim.x - 1) return;
  c.control->next_tile = 0;
  c.control->launches += 1;
  if (c.advance_phase) c.control->phase += 1;
}

}  // namespace weft::kernels
