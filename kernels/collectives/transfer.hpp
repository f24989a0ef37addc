// SPDX-License-Identifier: Apache-2.0
// What n communication CTAs do: an ordered list of pieces, each copied or reduced by all of them
// together, with the signals that a piece waits for and posts. The collectives are lists of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// A range of bytes.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// One piece of a transfer; offsets are bytes from the base addresses of TransferLaunch.
struct TransferPiece {
  static constexpr std::uint32_t kNoSignal = 0xffffffffu;

  std::int64_t source_offset = 0;  ///< the same in every source
  std::int64_t target_offset = 0;
  std::int64_t bytes = 0;  ///< a multiple of 16
  std::uint16_t first_source = 0;
  std::uint16_t sources = 1;  ///< more than one: their bf16 sum, added in fp32 in this order
  std::uint16_t target = 0;
  std::uint16_t chunk = 0;                ///< for error records
  std::uint32_t wait_signal = kNoSignal;  ///< index into `waits`
  std::uint32_t post_signal = kNoSignal;  ///< index into `posts`
};

/// Why a launch of communication CTAs gave up: a wait outlived its clock budget.
struct TransferError {
  std::uint32_t set = 0;  ///< 0: no error
  std::int32_t rank = 0;
  std::int32_t cta = 0;
  std::int32_t chunk = 0;
  Signal expected = 0;
  Signal seen = 0;
};

/// Arguments of one launch of communication CTAs; every pointer is readable by the device.
struct TransferLaunch {
  static constexpr int kMaxBases = 16;

  const TransferPiece* pieces = nullptr;
  int count = 0;
  const std::byte* sources[kMaxBases] = {};
  std::byte* targets[kMaxBases] = {};
  const Signal* waits = nullptr;
  Signal* posts = nullptr;
  Signal wait_value = 0;  ///< a wait ends when its signal has reached this; numbers may wrap
  Signal post_value = 0;
  std::uint32_t* arrivals = nullptr;  ///< `count` counters, zero before the first launch
  TransferError* error = nullptr;     ///< in memory that the host can read
  std::uint64_t wait_budget_ns = 5'000'000'000;
  int rank = 0;
  int ctas = 1;
  double bytes_per_ns = 0;           ///< pace of all CTAs together; 0 lets them run free
  std::int64_t in_flight_bytes = 0;  ///< outstanding bytes a CTA; 0 takes what the kernel can hold
  /// Copies alone, through shared memory, with exactly so many bytes a CTA asked for and stored at once, where
  /// either is set; 0 takes what the kernel can hold. A pace then saves nothing up while a flag is waited for.
  std::int64_t loads_in_flight_bytes = 0;
  std::int64_t stores_in_flight_bytes = 0;
};

/// Threads of a communication CTA.
inline constexpr int kTransferThreads = 512;

/// Bytes that one CTA can have in flight: 8 vectors of 16 bytes a thread.
inline constexpr std::int64_t kTransferMaxInFlight = std::int64_t{kTransferThreads} * 16 * 8;

/// Launches the CTAs on `stream`; throws DeviceError where the launch is refused.
void launch_transfer(const TransferLaunch& launch, cudaStream_t stream);

/// Sub-ranges of `total` bytes in at most `parts` pieces that are multiples of `granule`; empty ones
/// are left out.
std::vector<ByteRange> split_bytes(std::int64_t total, int parts, std::int64_t granule);

/// What a collective of n CTAs moves on one rank. `bytes` is the collective's whole message.
struct CollectivePlan {
  std::vector<TransferPiece> pieces;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
};

/// All-gather by pulling: rank `rank` reads each peer's shard, in rotated order, in chunks that each
/// post a signal; the own shard is in place. Sources are the ranks' buffers, target 0 is the own one.
CollectivePlan plan_all_gather(int ranks, int rank, std::int64_t shard_bytes, int chunks);

/// Reduce-scatter by pulling: rank `rank` reads its shard of each rank's partial and sums them.
CollectivePlan plan_reduce_scatter(int ranks, int rank, std::int64_t shard_bytes, int chunks);

/// One-shot all-reduce: every rank reads every partial whole and sums it.
CollectivePlan plan_all_reduce_one_shot(int ranks, int rank, std::int64_t bytes, int chunks);

/// All-to-all by pulling: block `rank` of every peer's buffer goes to the block of that peer.
CollectivePlan plan_all_to_all(int ranks, int rank, std::int64_t block_bytes, int chunks);

}  // namespace weft::kernels
