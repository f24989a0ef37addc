// SPDX-License-Identifier: Apache-2.0
// Small kernels that time one mechanism each: launches, hops between streams, flags between SMs.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// When a stamp kernel ran.
struct Stamp {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Records when it starts and, `hold_ns` later, when it ends.
void launch_stamp(Stamp* stamp, std::uint64_t hold_ns, int ctas, cudaStream_t stream);

/// Two CTAs answer each other `rounds` times through a pair of flags; `elapsed_ns` is the whole time.
/// Both flags hold `base` before and `base + rounds` after. A round that takes over a second ends the
/// kernel with an elapsed time of zero.
void launch_ping_pong(Signal* flags, Signal base, int rounds, std::uint64_t* elapsed_ns,
                      cudaStream_t stream);

/// Multiprocessor cycles that pass in `hold_ns`: the clock the SMs really run at.
void launch_clock_probe(std::uint64_t* cycles_and_ns, std::uint64_t hold_ns, cudaStream_t stream);

/// One side of a ping-pong between devices: waits on `mine`, answers on `theirs`; the side that
/// `starts` goes first.
void launch_ping_pong_side(Signal* mine, Signal* theirs, bool starts, Signal base, int rounds,
                           std::uint64_t* elapsed_ns, cudaStream_t stream);

/// Holds for `hold_ns`, stamps that moment as its start and posts `posted` (where it is not null); then spins until
/// `seen` (where it is not null) has reached `awaited`, and stamps that as its end, zero where a second passed. It goes
/// on for `linger_ns` after the post.
void launch_watch(Stamp* stamp, Signal* posted, Signal value, std::uint64_t hold_ns,
                  const Signal* seen, Signal awaited, cudaStream_t stream,
                  std::uint64_t linger_ns = 0);

}  // namespace weft::kernels
