// SPDX-License-Identifier: Apache-2.0
// Copies by CTAs that keep exactly so many bytes under way: one thread loads into a ring of slots in shared
// memory, another stores from it, both on the SM's copy engine, and each waits for its oldest slot when its
// window is full. What queues at a saturated link is then what the launch says, where CTAs that store
// through registers either let all they hold queue or drain between batches.
#include "kernels/collectives/piece.cuh"
#include "kernels/collectives/window.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/sm90/bulk.cuh"

namespace weft::kernels {
namespace {

constexpr int kThreads = 64;  // two warps: one thread loads, one stores
constexpr int kStorer = 32;
/// Shares begin at whole KiB, so that no two CTAs meet in a line or a packet.
constexpr int kGranule = 64;

/// Where a thread is in the ring, and in which turn of it.
struct Cursor {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ void move_on(const Window& window) {
    if (++slot < window.slots) return;
    slot = 0;
    parity ^= 1;
  }
};

/// The ring of a CTA, by addresses in shared memory.
struct Ring {
  Window window;
  std::uint32_t slots;
  std::uint32_t full_barriers;
  std::uint32_t empty_barriers;
  std::uint32_t ends;  ///< a word a slot: not zero where the loads end early in its place
  __device__ std::uint32_t slot(const Cursor& at) const {
    return slots + static_cast<std::uint32_t>(at.slot * window.slot_bytes);
  }
  __device__ std::uint32_t full(const Cursor& at) const { return full_barriers + 8 * at.slot; }
  __device__ std::uint32_t empty(const Cursor& at) const { return empty_barriers + 8 * at.slot; }
  __device__ std::uint32_t end(const Cursor& at) const { return ends + 4 * at.slot; }
};

/// Returns the bytes of the next step of a share, which begins at `at`.
__device__ std::uint32_t step_bytes(const Window& window, std::int64_t at, std::int64_t end) {
  return static_cast<std::uint32_t>(min(end - at, std::int64_t{window.slot_bytes}));
}

/// Loads this CTA's share of every piece, each when its flag is there.
__device__ void feed(const TransferLaunch& launch, const Ring& ring) {
  Cursor next;
  Cursor oldest;  // of the slots that are asked for and not known to be here
  int asked = 0;
  for (int index = 0; index < launch.count; ++index) {
    const TransferPiece piece = launch.pieces[index];
    if (piece.sources != 1) __trap();
    if (piece.wait_signal != TransferPiece::kNoSignal) {
      if (!device::flag_comes(launch, piece)) {
        ptx::barrier_wait<false>(ring.empty(next), next.parity ^ 1);
        ptx::store_word(ring.end(next), 1);
        ptx::barrier_arrive(ring.full(next));
        return;
      }
      ptx::fence_global_copy_engine();
    }
    const std::byte* source = launch.sources[piece.first_source] + piece.source_offset;
    const device::Bounds share = device::share_of(piece.bytes, kGranule);
    for (std::int64_t at = 16 * share.first; at < 16 * share.last; at += ring.window.slot_bytes) {
      if (asked == ring.window.loads) {
        ptx::barrier_wait<false>(ring.full(oldest), oldest.parity);
        oldest.move_on(ring.window);
        --asked;
      }
      ptx::barrier_wait<false>(ring.empty(next), next.parity ^ 1);
      bulk::load(ring.slot(next), source + at, step_bytes(ring.window, at, 16 * share.last),
                 ring.full(next));
      next.move_on(ring.window);
      ++asked;
    }
  }
}

/// Holds a CTA to its share of a pace. What was not used, while a flag was waited for say, is not saved up
/// beyond what the timer and a sleep are coarse by.
class Pace {
 public:
  __device__ explicit Pace(double bytes_per_ns) : bytes_per_ns_(bytes_per_ns) {}
  __device__ void keep(std::uint32_t bytes) {
    if (bytes_per_ns_ <= 0) return;
    constexpr double coarse_ns = 2'000;
    auto now = static_cast<double>(device::now_ns() - start_);
    due_ = max(due_, now - coarse_ns);
    for (; now < due_; now = static_cast<double>(device::now_ns() - start_)) __nanosleep(100);
    due_ += bytes / bytes_per_ns_;
  }

 private:
  double bytes_per_ns_;
  std::uint64_t start_ = device::now_ns();
  double due_ = 0;  ///< since the start
};

/// The stores that are under way, the oldest of which gives its slot back when it is complete.
class Stores {
 public:
  __device__ explicit Stores(const Ring& ring) : ring_(ring) {}
  /// Waits until one more may be under way: before the wait for what it stores, since the ring may have no
  /// more slots than the window.
  __device__ void make_room() {
    if (pending_ == ring_.window.stores) complete_but(pending_ - 1);
  }
  __device__ void store(std::byte* to, const Cursor& from, std::uint32_t bytes) {
    bulk::store(to, ring_.slot(from), bytes);
    ++pending_;
  }
  __device__ void complete_but(int left) {
    bulk::wait_but<Window::most_stores - 1>(left);
    for (; pending_ > left; --pending_) {
      ptx::barrier_arrive(ring_.empty(oldest_));
      oldest_.move_on(ring_.window);
    }
  }

 private:
  const Ring& ring_;
  Cursor oldest_;
  int pending_ = 0;
};

/// Stores what `feed` loads, at the pace, and posts each piece when all of it has arrived.
__device__ void drain(const TransferLaunch& launch, const Ring& ring) {
  Pace pace(launch.bytes_per_ns / gridDim.x);
  Stores stores(ring);
  Cursor next;
  for (int index = 0; index < launch.count; ++index) {
    const TransferPiece piece = launch.pieces[index];
    std::byte* target = launch.targets[piece.target] + piece.target_offset;
    const device::Bounds share = device::share_of(piece.bytes, kGranule);
    for (std::int64_t at = 16 * share.first; at < 16 * share.last; at += ring.window.slot_bytes) {
      stores.make_room();
      ptx::barrier_wait<false>(ring.full(next), next.parity);
      if (ptx::load_word(ring.end(next)) != 0) {
        stores.complete_but(0);
        return;
      }
      const std::uint32_t bytes = step_bytes(ring.window, at, 16 * share.last);
      pace.keep(bytes);
      stores.store(target + at, next, bytes);
      next.move_on(ring.window);
    }
    if (piece.post_signal == TransferPiece::kNoSignal) continue;
    stores.complete_but(0);
    ptx::fence_global_copy_engine();
    device::count_arrival(launch, index, piece);
  }
  stores.complete_but(0);
}

__global__ void __launch_bounds__(kThreads, 1)
    windowed_transfer(const TransferLaunch launch, const Window window) {
  extern __shared__ __align__(128) std::byte slots[];
  __shared__ std::uint64_t full[Window::most_slots];
  __shared__ std::uint64_t empty[Window::most_slots];
  __shared__ std::uint32_t ends[Window::most_slots];
  const Ring ring{window, ptx::shared(slots), ptx::shared(full), ptx::shared(empty),
                  ptx::shared(ends)};
  if (threadIdx.x == 0) {
    for (int i = 0; i < window.slots; ++i) {
      ptx::barrier_init(ring.full_barriers + 8 * i, 1);
      ptx::barrier_init(ring.empty_barriers + 8 * i, 1);
      ends[i] = 0;
    }
    ptx::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) feed(launch, ring);
  if (threadIdx.x == kStorer) drain(launch, ring);
}

}  // namespace

void launch_windowed_transfer(const TransferLaunch& launch, cudaStream_t stream) {
  WEFT_CUDA(cudaFuncSetAttribute(windowed_transfer, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 Window::ring_bytes));
  const Window window = Window::of(launch.loads_in_flight_bytes, launch.stores_in_flight_bytes);
  windowed_transfer<<<launch.ctas, kThreads, Window::ring_bytes, stream>>>(launch, window);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
