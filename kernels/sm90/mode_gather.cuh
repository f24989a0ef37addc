// SPDX-License-Identifier: Apache-2.0
// The GEMM that consumes a gathered X: its producer waits for the chunks that a tile reads, when
// they are not those of the tile before. Communication CTAs, if any, pull the peers' shards chunk
// by chunk in the order in which the tiles want them: the next rank's first.
#pragma once

#include "kernels/sm90/chunks.cuh"
#include "kernels/sm90/fetching.cuh"
#include "kernels/sm90/kernel.cuh"

namespace weft::kernels {

struct Gathering {
  struct Params {
    CoreParams core;
    CUtensorMap out;
    Chunks chunks;
    Signal* ready;
    Vectors gathered;
    int width;  ///< vectors in a row of X
    Vectors shards[max_ranks];
    const Signal* shard_ready[max_ranks];
    bool far;  ///< shards lie in other GPUs
  };
  static constexpr bool looks = true;
  static constexpr bool in_turns = false;  ///< owners' rows may take turns
  static constexpr bool adds = false;      ///< what others have summed, where tiles are rounded out
  struct Loader {
    Signal sequence = 0;
    /// Chunks that have been there: lane l keeps chunk 32 i + l in bit i, while i is below 32.
    std::uint32_t seen = 0;
    bool all = false;  ///< every chunk has been there

    /// One look at all flags, up to 256, and word of what was seen, for `hear`. Up to 32 flags need no
    /// fence, which would cost more than the look. By a warp that has nothing else to do.
    __device__ __forceinline__ void look(const Params& params, std::uint32_t verdict) {
      const Coordination& c = params.core.coordination;
      sequence = sequence_of(c);
      all = params.ready == nullptr;
      if (!all && c.hold_point != HoldPoint::before_load) all = all_there(params);
      if (threadIdx.x % 32 == 0) {
        ptx::store_word(verdict, all ? 1 : 0);
        ptx::store_word(verdict + 4, sequence);
      }
      __syncwarp();
      ptx::barrier_pass(verdict_barrier, 64);
    }
    /// Waits for the word of the warp that has looked. By the producer warp.
    __device__ __forceinline__ void hear(std::uint32_t verdict) {
      ptx::barrier_join(verdict_barrier, 64);
      all = ptx::load_word(verdict) != 0;
      sequence = ptx::load_word(verdict + 4);
      ptx::fence_global_copy_engine();
    }

   private:
    static constexpr int verdict_barrier = 15;

    __device__ __forceinline__ bool all_there(const Params& params) const {
      constexpr int words = 8;
      const int count = params.chunks.ranks * params.chunks.per_shard;
      const int lane = static_cast<int>(threadIdx.x % 32);
      Signal flags[words];
      if (count <= 32 && lane < count) flags[0] = ptx::load_acquire(params.ready + lane);
#pragma unroll
      for (int i = 0; count > 32 && i < words; ++i)
        if (32 * i + lane < count) flags[i] = ptx::load_relaxed(params.ready + 32 * i + lane);
      bool mine = count <= 32 * words;
#pragma unroll
      for (int i = 0; i < words; ++i) {
        const int chunk = 32 * i + lane;
        if (chunk < count && static_cast<std::int32_t>(flags[i] - sequence) < 0 &&
            chunk / params.chunks.per_shard != params.chunks.rank)
          mine = false;
      }
      if (count > 32) ptx::fence_acquire();
      return __all_sync(0xFFFF'FFFFu, mine);
    }
  };
  struct Sender {};

  /// A lane a chunk, so that the looks at the flags of a tile overlap.
  static __device__ __forceinline__ void wait_rows(const Params& params, Loader& loader, int begin,
                                                   int end) {
    const Coordination& c = params.core.coordination;
    if (loader.all || begin >= params.core.m) return;
    const int first = params.chunks.chunk_of(begin);
    const int last = params.chunks.chunk_of(min(end, params.core.m) - 1);
    const int lane = static_cast<int>(threadIdx.x % 32);
    bool waited = false;
    for (int chunk = first + (lane - first % 32 + 32) % 32; chunk <= last; chunk += 32) {
      const std::uint32_t bit = chunk < 1'024 ? 1u << chunk / 32 : 0;
      const int source = chunk / params.chunks.per_shard;
      if ((loader.seen & bit) != 0 || source == params.chunks.rank) continue;
      const shapes::Rows rows = params.chunks.chunk(chunk);
      if (rows.begin == rows.end) continue;
      hold(c, HoldPoint::before_load, chunk);
      wait_for(c, params.ready + chunk, loader.sequence, WaitKind::gathered_chunk, source, chunk);
      loader.seen |= bit;
      waited = true;
    }
    if (__any_sync(0xFFFF'FFFFu, waited)) ptx::fence_global_copy_engine();
  }

  template <int kTile>
  static __device__ __forceinline__ void store(const Params& params, Sender&, std::uint32_t slot,
                                               shapes::Rows rows, int column, bool) {
    if (rows.begin < rows.end && column < params.core.n)
      ptx::store_box(&params.out, slot, column, rows.begin);
  }

  template <int kTile>
  static __device__ __forceinline__ void finish(const Params&, shapes::Rows, int) {}

  template <int kThreads>
  static __device__ __forceinline__ void communicate(const Params& params, std::uint32_t shared) {
    const Coordination& c = params.core.coordination;
    const Chunks& chunks = params.chunks;
    const int ctas = params.core.communication_ctas;
    const int cta = static_cast<int>(blockIdx.x);
    const Signal sequence = sequence_of(c);
    if (params.far) {
      Fetching<Params>(params, shared).run([&](int chunk) {
        finish_part(params, chunk, sequence, ctas);
      });
      return;
    }
    for (int step = 1; step < chunks.ranks; ++step) {
      const int source = (chunks.rank + step) % chunks.ranks;
      if (params.shard_ready[source] != nullptr) {
        if (threadIdx.x == 0)
          wait_for(c, params.shard_ready[source], sequence, WaitKind::peer_shard, source, 0);
        __syncthreads();
      }
      for (int i = 0; i < chunks.per_shard; ++i) {
        const int chunk = source * chunks.per_shard + i;
        const shapes::Rows rows = chunks.chunk(chunk);
        if (rows.begin == rows.end) continue;
        const Vectors to{params.gathered.data + rows.begin * params.gathered.stride,
                         params.gathered.stride};
        const Vectors& shard = params.shards[source];
        const Vectors from{shard.data + (rows.begin - source * chunks.shard_rows) * shard.stride,
                           shard.stride};
        if (c.flag_before_data) finish_chunk(params, chunk, sequence, ctas);
        hold(c, HoldPoint::before_copy, chunk);
        copy_rows(c, to, from, rows.count(), params.width, cta, ctas);
        if (!c.flag_before_data) finish_chunk(params, chunk, sequence, ctas);
      }
    }
  }

 private:
  /// By all threads of a CTA, once they have moved their part of the chunk.
  static __device__ __forceinline__ void finish_chunk(const Params& params, int chunk,
                                                      Signal sequence, int ctas) {
    __syncthreads();
    if (threadIdx.x == 0) finish_part(params, chunk, sequence, ctas);
  }

  /// Counts this CTA's part of the chunk, and posts its flag if it is the last one. By one thread.
  static __device__ __forceinline__ void finish_part(const Params& params, int chunk,
                                                     Signal sequence, int ctas) {
    const Coordination& c = params.core.coordination;
    const auto last = static_cast<std::uint32_t>(ctas - 1);
    if (ptx::count_up(&c.control->parts[chunk], last) == last)
      post(c, params.ready + chunk, sequence, chunk);
  }
};

}  // namespace weft::kernels
