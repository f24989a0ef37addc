// SPDX-License-Identifier: Apache-2.0
// What kernels and host share of a workspace: counters that return to zero by themselves, so that
// no launch needs a reset, and the record of the wait that expired.
#pragma once

#include <cstdint>

#include "kernels/sm90/workspace.hpp"

namespace weft::kernels {

inline constexpr int max_ranks = 16;
inline constexpr int max_chunks = 4'096;

/// In device memory, zero at first.
struct Control {
  std::uint32_t next_tile;            ///< the tile counter; the last CTA of a launch sets it back
  std::uint32_t left;                 ///< CTAs that have left, modulo the grid
  std::uint32_t aborted;              ///< one after a wait expired: nobody waits or posts any more
  std::uint32_t phase;                ///< added to every sequence number
  std::uint32_t launches;             ///< that have ended
  unsigned long long pace;            ///< when the next paced byte may go, in quarter nanoseconds
  std::uint32_t parts[max_chunks];    ///< parts of a chunk that are done, modulo the parts
  std::uint32_t results[max_chunks];  ///< likewise, of reduced chunks
};

/// In pinned host memory; `ready` is written last.
struct WaitRecord {
  std::uint32_t ready;
  std::uint32_t kind;
  std::int32_t rank;
  std::int32_t cta;
  std::int32_t source;
  std::int32_t chunk;
  std::uint32_t expected;
  std::uint32_t seen;
  std::int64_t waited_ns;
};

struct Workspace::Device {
  Control* control = nullptr;
  WaitRecord* record = nullptr;
};

/// What a kernel needs to wait, post and pace.
struct Coordination {
  Control* control;
  WaitRecord* record;
  int rank;
  Signal sequence;
  std::int64_t budget_ns;
  /// Cost of one MiB in quarter nanoseconds; zero means unpaced.
  std::uint64_t pace_per_mib;
  std::int64_t bytes_in_flight;  ///< of bulk stores in one CTA; zero means unlimited
  HoldPoint hold_point;
  int hold_chunk;
  std::int64_t hold_ns;
  bool advance_phase;
  bool flag_before_data;
};

}  // namespace weft::kernels
