// SPDX-License-Identifier: Apache-2.0
// How communication CTAs fetch rows that lie in another GPU: through slots in the CTA's shared memory, on
// the SM's copy engine. One thread loads and another stores, so that loads run on into the next chunk while
// the stores of the last one end. A load takes microseconds over such a link, and a CTA moves what it has
// under way in that time: here all of its slots, where what its threads hold in registers is a third of that
// and has come and gone before more is asked for.
#pragma once

#include "kernels/sm90/bulk.cuh"
#include "kernels/sm90/chunks.cuh"
#include "kernels/sm90/layout.cuh"

namespace weft::kernels {

/// The slots of a CTA and their barriers, in shared memory from `at` on.
struct FetchSlots {
  static constexpr int slot_bytes = 8 << 10;
  static constexpr int count = 20;
  static constexpr int bytes = count * (slot_bytes + 16);

  std::uint32_t at;
  __device__ __forceinline__ std::uint32_t slot(const Ring& place) const {
    return at + place.index * slot_bytes;
  }
  __device__ __forceinline__ std::uint32_t full(const Ring& place) const {
    return at + count * slot_bytes + 16 * place.index;
  }
  __device__ __forceinline__ std::uint32_t empty(const Ring& place) const {
    return full(place) + 8;
  }
  /// Prepares the barriers. By one thread.
  __device__ __forceinline__ void prepare() const {
    for (Ring place; place.parity == 0; place.advance<count>()) {
      ptx::barrier_init(full(place), 1);
      ptx::barrier_init(empty(place), 1);
    }
    ptx::fence_barrier_init();
  }
};

/// This CTA's part of every chunk that a gathering launch fetches.
template <class Params>
class Fetching {
 public:
  __device__ __forceinline__ Fetching(const Params& params, std::uint32_t shared)
      : params_(params), c_(params.core.coordination), slots_{shared} {}

  /// Fetches all chunks, and calls finish(chunk) once this CTA's part of it is there, by one thread. By all
  /// threads of the CTA.
  template <class Finish>
  __device__ __forceinline__ void run(const Finish& finish) const {
    constexpr int storer = 32;
    if (threadIdx.x == 0) slots_.prepare();
    __syncthreads();
    if (threadIdx.x == 0) load();
    if (threadIdx.x == storer) store(finish);
  }

 private:
  /// Stores that may still read their slots.
  static constexpr int stores = 4;

  /// Bytes that lie together in the shard and in what is gathered.
  struct Piece {
    std::byte* to;
    const std::byte* from;
    std::uint32_t bytes;
  };

  /// Calls visit.shard(source), then for its chunks visit.begin(chunk), visit.move(piece), visit.end(chunk):
  /// the next rank's first, in the order in which tiles want them.
  template <class Visit>
  __device__ __forceinline__ void walk(Visit& visit) const {
    const Chunks& chunks = params_.chunks;
    for (int step = 1; step < chunks.ranks; ++step) {
      const int source = (chunks.rank + step) % chunks.ranks;
      visit.shard(source);
      for (int i = 0; i < chunks.per_shard; ++i) {
        const int chunk = source * chunks.per_shard + i;
        const shapes::Rows rows = chunks.chunk(chunk);
        if (rows.begin == rows.end) continue;
        visit.begin(chunk);
        walk_rows(visit, source, rows);
        visit.end(chunk);
      }
    }
  }

  template <class Visit>
  __device__ __forceinline__ void walk_rows(Visit& visit, int source, shapes::Rows rows) const {
    constexpr int line = 8;  // vectors: 128 bytes
    constexpr std::int64_t slot = FetchSlots::slot_bytes / static_cast<int>(sizeof(uint4));
    const int width = params_.width;
    const Vectors& shard = params_.shards[source];
    const bool tight = shard.stride == width && params_.gathered.stride == width;
    const std::int64_t total = std::int64_t{rows.count()} * width;
    const std::int64_t lines = (total + line - 1) / line;
    const int ctas = params_.core.communication_ctas;
    const std::int64_t each = (lines + ctas - 1) / ctas * line;
    const std::int64_t last = min(total, each * (blockIdx.x + 1));
    const int first_row = rows.begin - source * params_.chunks.shard_rows;
    std::int64_t count = 0;
    for (std::int64_t at = min(total, each * blockIdx.x); at < last; at += count) {
      const std::int64_t row = tight ? 0 : at / width;
      const std::int64_t column = at - row * width;
      count = min(slot, last - at);
      if (!tight) count = min(count, width - column);
      const uint4* from = shard.data + (first_row + row) * shard.stride + column;
      uint4* to = params_.gathered.data + (rows.begin + row) * params_.gathered.stride + column;
      visit.move({reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                  static_cast<std::uint32_t>(count * sizeof(uint4))});
    }
  }

  /// Loads every piece at its turn, as far ahead of the stores as there are slots. By one thread.
  __device__ __forceinline__ void load() const {
    struct Loads {
      const Fetching& self;
      Signal sequence;
      Ring next{};
      __device__ __forceinline__ void shard(int source) {
        const Signal* ready = self.params_.shard_ready[source];
        if (ready == nullptr) return;
        wait_for(self.c_, ready, sequence, WaitKind::peer_shard, source, 0);
        ptx::fence_global_copy_engine();
      }
      __device__ __forceinline__ void begin(int chunk) {
        hold(self.c_, HoldPoint::before_copy, chunk);
      }
      __device__ __forceinline__ void move(const Piece& piece) {
        ptx::barrier_wait<false>(self.slots_.empty(next), next.parity ^ 1);
        keep_pace(self.c_, piece.bytes);
        bulk::load(self.slots_.slot(next), piece.from, piece.bytes, self.slots_.full(next));
        next.advance<FetchSlots::count>();
      }
      __device__ __forceinline__ void end(int) {}
    } loads{*this, sequence_of(c_)};
    walk(loads);
  }

  /// Stores what was loaded, and gives its slots back. By one thread.
  template <class Finish>
  __device__ __forceinline__ void store(const Finish& finish) const {
    struct Stores {
      const Fetching& self;
      const Finish& finish;
      Ring next{};
      Ring oldest{};  ///< whose slot is not given back
      int reading = 0;
      __device__ __forceinline__ void shard(int) {}
      __device__ __forceinline__ void begin(int chunk) {
        if (self.c_.flag_before_data) finish(chunk);
      }
      __device__ __forceinline__ void move(const Piece& piece) {
        ptx::barrier_wait<false>(self.slots_.full(next), next.parity);
        bulk::store(piece.to, self.slots_.slot(next), piece.bytes);
        next.advance<FetchSlots::count>();
        if (++reading <= stores) return;
        ptx::wait_stores_read<stores>();
        give_back();
      }
      __device__ __forceinline__ void end(int chunk) {
        ptx::wait_stores();
        while (reading > 0) give_back();
        ptx::fence_global_copy_engine();
        if (!self.c_.flag_before_data) finish(chunk);
      }
      __device__ __forceinline__ void give_back() {
        ptx::barrier_arrive(self.slots_.empty(oldest));
        oldest.advance<FetchSlots::count>();
        --reading;
      }
    } stored{*this, finish};
    walk(stored);
  }

  const Params& params_;
  const Coordination& c_;
  FetchSlots slots_;
};

}  // namespace weft::kernels
