// SPDX-License-Identifier: Apache-2.0
// What every kernel launch says besides its operands: tile, grid, order, waits, pace. Plain C++:
// the program that measures and the tests see no CUDA header through this file.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace weft::kernels {

/// A CUDA stream (cudaStream_t).
using Stream = CUstream_st*;

/// A flag in memory that a waiter may poll: a sequence number that only rises and may wrap. A wait
/// for v is over when int32(seen - v) >= 0.
using Signal = std::uint32_t;

/// How tiles are handed to CTAs: fixed shares, or a counter in device memory, which costs an atomic
/// a tile and lets a CTA that becomes resident late take fewer tiles.
enum class Scheduler : std::uint8_t { static_shares, counter };

/// Where a test may hold a kernel back for `delay_ns`.
enum class HoldPoint : std::uint8_t {
  none,
  before_load,    ///< the producer, before the first load of a tile
  before_store,   ///< the store warp, before the first store of a tile
  before_post,    ///< whoever posts a flag, between its data and the flag
  before_copy,    ///< a communication CTA, before it moves a chunk
  before_reduce,  ///< a communication CTA, before it reduces a chunk
};

/// A delay injected by tests at one point and one chunk; chunk -1 stands for every chunk.
struct Hold {
  HoldPoint point = HoldPoint::none;
  int chunk = -1;
  std::int64_t delay_ns = 0;
};

/// How fast the CTAs that write to or read from peers may go, all together; zero means unlimited.
struct Pace {
  std::int64_t bytes_per_second = 0;
  std::int64_t bytes_in_flight_per_cta = 0;  ///< bulk stores a CTA may have outstanding
};

/// How a kernel is launched.
struct Options {
  int tile = -1;   ///< index into shapes::tiles; -1 lets shapes::choose_tile pick
  int sms = 0;     ///< SMs of the partition that the stream belongs to; 0 asks the device
  int margin = 0;  ///< SMs left to others: the grid is at most sms - margin
  Scheduler scheduler = Scheduler::static_shares;
  /// Rows of X that the tile order walks before it moves on, for reuse in the L2; 0: shapes::group_rows, or less
  /// where the order follows the arrival of chunks.
  int group_rows = 0;
  std::int64_t wait_budget_ns = 2'000'000'000;  ///< clock budget of any one wait
  Pace pace;
  bool advance_phase = false;  ///< raise Workspace::phase by one when the launch ends
  Hold hold;
  bool flag_before_data =
      false;  ///< tests only: post flags too early, which a flag test must catch
};

/// X [m, k] times W [n, k] transposed, row-major bf16, strides in elements (0 = tight).
struct Product {
  int m = 0;
  int n = 0;
  int k = 0;
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  const void* w = nullptr;
  std::int64_t w_stride = 0;
};

}  // namespace weft::kernels
