// SPDX-License-Identifier: Apache-2.0
// Background traffic by n resident CTAs that runs until it is told to stop and says what it moved: the
// neighbour of a GEMM in the interference suites.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// What the CTAs do with the link or the memory.
enum class TrafficKind : std::uint8_t { spin, read, write, copy, reduce };

/// What one CTA did between its first and last instruction.
struct TrafficRecord {
  std::int64_t bytes = 0;  ///< payload: read once, written once or summed once
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Arguments of a traffic launch; regions are walked in a ring of `region_bytes`.
struct TrafficLaunch {
  TrafficKind kind = TrafficKind::spin;
  const std::byte* source = nullptr;
  const std::byte* second = nullptr;  ///< the other operand of `reduce`
  std::byte* target = nullptr;
  std::int64_t region_bytes = 0;  ///< a multiple of 64 KiB a CTA
  const Signal* stop = nullptr;   ///< ends when this has reached `stop_value`
  Signal stop_value = 0;
  Signal* resident = nullptr;        ///< raised by one by each CTA when it starts
  TrafficRecord* records = nullptr;  ///< one a CTA
  std::int64_t most_bytes = 0;       ///< a CTA also ends after this many bytes; 0: no such end
  std::uint64_t budget_ns = 2'000'000'000;  ///< and after this long in any case
  int ctas = 1;
  double bytes_per_ns = 0;           ///< pace of all CTAs together; 0: free
  std::int64_t in_flight_bytes = 0;  ///< outstanding bytes a CTA; 0: what the kernel can hold
};

/// Threads of a traffic CTA.
inline constexpr int kTrafficThreads = 512;

/// Launches the traffic on `stream`.
void launch_traffic(const TrafficLaunch& launch, cudaStream_t stream);

}  // namespace weft::kernels
