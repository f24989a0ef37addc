// SPDX-License-Identifier: Apache-2.0
// What communication CTAs load ahead while they add partial rows. Each thread has places of its own in the
// CTA's shared memory, filled by its own asynchronous copies: what is under way costs no registers, no
// thread waits for another, and the flow need not end between chunks.
#pragma once

#include "kernels/sm90/chunks.cuh"

namespace weft::kernels {

/// Returns vector `index` of rows of `width` vectors.
__device__ __forceinline__ uint4* vector_at(const Vectors& rows, std::int64_t index, int width) {
  const std::int64_t row = index / width;
  return rows.data + row * rows.stride + (index - row * width);
}

/// Places for vectors on their way, `across` of them a step and thread, `depth` steps ahead; `kThreads`
/// threads share the memory.
template <int kThreads>
class LoadRing {
 public:
  /// More at a time take fewer turns, and twice the registers.
  static constexpr int across = kThreads > 384 ? 4 : 8;
  static constexpr int depth = 24 / across;
  static constexpr int step_vectors = across * kThreads;
  static constexpr int bytes = depth * step_vectors * static_cast<int>(sizeof(uint4));

  /// `shared` is the address of `bytes` bytes of shared memory.
  __device__ __forceinline__ explicit LoadRing(std::uint32_t shared)
      : place_(shared + threadIdx.x * static_cast<std::uint32_t>(sizeof(uint4))) {}

  /// Asks for vectors of a step that lies `ahead` steps after the one that is taken next: the thread's
  /// of `left` vectors, vector i of which is at `at(i)`.
  template <class At>
  __device__ __forceinline__ void ask(int ahead, int left, const At& at) {
    int step = step_ + ahead;
    if (step >= depth) step -= depth;
#pragma unroll
    for (int i = 0; i < across; ++i)
      if (vector(i) < left)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(step, i)),
                     "l"(at(vector(i)))
                     : "memory");
  }

  /// Ends what is asked for one step, which may be nothing.
  __device__ __forceinline__ void end_step() {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  /// Waits for the next step's vectors and takes them; those past the ones asked for are whatever.
  __device__ __forceinline__ void take(uint4 (&vectors)[across]) {
    asm volatile("cp.async.wait_group %0;" ::"n"(depth - 1) : "memory");
#pragma unroll
    for (int i = 0; i < across; ++i) vectors[i] = ptx::load_shared(place(step_, i));
  }

  /// Moves on to the step after the one taken, whose places are then the last ones ahead.
  __device__ __forceinline__ void move_on() {
    step_ = step_ + 1 == depth ? 0 : step_ + 1;
  }

  /// Returns which vector of a step's is the thread's i-th.
  static __device__ __forceinline__ int vector(int i) {
    return i * kThreads + static_cast<int>(threadIdx.x);
  }

 private:
  __device__ __forceinline__ std::uint32_t place(int step, int i) const {
    return place_ + static_cast<std::uint32_t>((step * across + i) * kThreads) *
                        static_cast<std::uint32_t>(sizeof(uint4));
  }

  std::uint32_t place_;
  int step_ = 0;
};

/// What the communication CTAs of a scattering mode do: add the partials of this rank's rows in fp32, in
/// rank order, chunk by chunk as they land, and hand the sums to whoever gets them. Loads run ahead of the
/// additions, into the next chunk too if it has landed when they come to its beginning.
template <int kThreads, class Params>
class Summation {
 public:
  using Ring = LoadRing<kThreads>;

  __device__ __forceinline__ Summation(const Params& params, std::uint32_t shared)
      : params_(params),
        c_(params.core.coordination),
        sequence_(sequence_of(params.core.coordination)),
        own_(params.everyone ? 0 : params.rank),
        ring_(shared) {}

  /// Adds every chunk. By all threads of a communication CTA, like everything here.
  __device__ __forceinline__ void run() {
    ahead_.chunk = -1;
    for (int chunk = chunk_after(-1); chunk < params_.chunks.per_shard;
         chunk = chunk_after(chunk)) {
      if (ahead_.chunk < chunk) begin(chunk);
      Share share = share_of(chunk);
      for (; share.next < share.end; share.next += Ring::step_vectors) add(share);
      if (params_.receivers > 1) post_sums(chunk);
    }
  }

 private:
  /// A CTA's part of a chunk, in vectors of the own rows: what is left of it.
  struct Share {
    int chunk;
    std::int64_t next;
    std::int64_t end;
    __device__ __forceinline__ int step() const {
      return static_cast<int>(min(end - next, std::int64_t{Ring::step_vectors}));
    }
  };

  __device__ __forceinline__ shapes::Rows rows_of(int chunk) const {
    return params_.chunks.chunk(number_of(chunk));
  }

  /// Returns the next chunk that has rows.
  __device__ __forceinline__ int chunk_after(int chunk) const {
    for (++chunk; chunk < params_.chunks.per_shard; ++chunk) {
      const shapes::Rows rows = rows_of(chunk);
      if (rows.begin < rows.end) break;
    }
    return chunk;
  }

  __device__ __forceinline__ Share share_of(int chunk) const {
    constexpr int line = 8;  // vectors: 128 bytes
    const shapes::Rows rows = rows_of(chunk);
    const std::int64_t first =
        std::int64_t{rows.begin - own_ * params_.chunks.shard_rows} * params_.width;
    const std::int64_t total = std::int64_t{rows.count()} * params_.width;
    const auto lines = static_cast<std::uint32_t>((total + line - 1) / line);
    const auto ctas = static_cast<std::uint32_t>(params_.core.communication_ctas);
    const std::int64_t each = std::int64_t{(lines + ctas - 1) / ctas} * line;
    const std::int64_t begin = min(total, each * blockIdx.x);
    return {chunk, first + begin, first + min(total, begin + each)};
  }

  __device__ __forceinline__ int number_of(int chunk) const {
    return own_ * params_.chunks.per_shard + chunk;
  }

  /// Waits until a chunk has landed, and fills the ring from it on.
  __device__ __forceinline__ void begin(int chunk) {
    hold(c_, HoldPoint::before_reduce, number_of(chunk));
    const int source = static_cast<int>(threadIdx.x);
    if (source < params_.sources)
      wait_for(c_, params_.arrived[source] + chunk, sequence_, WaitKind::partial, source,
               number_of(chunk));
    __syncthreads();
    ahead_ = share_of(chunk);
    landed_ = chunk + 1;
    source_ = 0;
    stopped_ = false;
    for (int step = 0; step < Ring::depth; ++step) {
      find();
      ask(step);
    }
  }

  /// Returns how many chunks from `chunk` on have landed, up to 32, without waiting.
  __device__ __forceinline__ int look(int chunk) const {
    bool landed = false;
    if (threadIdx.x < 32) {
      const int mine = chunk + static_cast<int>(threadIdx.x);
      bool here = mine < params_.chunks.per_shard;
      for (int source = 0; here && source < params_.sources; ++source)
        here = static_cast<std::int32_t>(ptx::load_relaxed(params_.arrived[source] + mine) -
                                         sequence_) >= 0;
      const unsigned missing = ~__ballot_sync(0xFFFF'FFFFu, here);
      ptx::fence_acquire();
      landed = (missing & ((2u << threadIdx.x) - 1)) == 0;
    }
    return __syncthreads_count(landed);
  }

  /// Finds what is to be asked for next: where a share ends, that of the next chunk if it has landed.
  __device__ __forceinline__ void find() {
    while (!stopped_ && ahead_.next >= ahead_.end) {
      const int chunk = chunk_after(ahead_.chunk);
      if (chunk >= landed_ && chunk < params_.chunks.per_shard) landed_ = chunk + look(chunk);
      stopped_ = chunk >= landed_ || chunk >= params_.chunks.per_shard;
      if (stopped_) return;
      hold(c_, HoldPoint::before_reduce, number_of(chunk));
      ahead_ = share_of(chunk);
    }
  }

  /// Asks for the step that was found, which lies `step` steps ahead.
  __device__ __forceinline__ void ask(int step) {
    if (!stopped_) {
      const Vectors& from = params_.slots[source_];
      if (from.stride == params_.width) {
        const uint4* data = from.data + ahead_.next;
        ring_.ask(step, ahead_.step(), [&](int i) { return data + i; });
      } else {
        ring_.ask(step, ahead_.step(),
                  [&](int i) { return vector_at(from, ahead_.next + i, params_.width); });
      }
      if (++source_ == params_.sources) {
        source_ = 0;
        ahead_.next += Ring::step_vectors;
      }
    }
    ring_.end_step();
  }

  /// Takes the next step's vectors, which makes room to ask for more.
  __device__ __forceinline__ void take(uint4 (&vectors)[Ring::across]) {
    find();
    ring_.take(vectors);
    ask(0);
    ring_.move_on();
  }

  /// Adds the vectors of one step of `share`, each of every source, and stores the sums.
  __device__ __forceinline__ void add(const Share& share) {
    uint4 vectors[Ring::across];
    float sums[Ring::across][8];
    take(vectors);
#pragma unroll
    for (int i = 0; i < Ring::across; ++i) widen_vector(sums[i], vectors[i]);
#pragma unroll 1
    for (int source = 1; source < params_.sources; ++source) {
      take(vectors);
#pragma unroll
      for (int i = 0; i < Ring::across; ++i) add_vector(sums[i], vectors[i]);
    }
    const int left = share.step();
    const int away = params_.receivers - 1;
    if (c_.pace_per_mib != 0 && away > 0) {
      if (threadIdx.x == 0) keep_pace(c_, std::int64_t{16} * away * left);
      __syncthreads();
    }
    // Ranks begin with different receivers.
    int receiver = away > 0 ? params_.rank : 0;
    for (int r = 0; r <= away; ++r) {
      if (++receiver > away) receiver = 0;
      const Vectors& to = params_.results[receiver];
      uint4* const tight = to.stride == params_.width ? to.data + share.next : nullptr;
#pragma unroll
      for (int i = 0; i < Ring::across; ++i) {
        if (Ring::vector(i) >= left) continue;
        uint4* const at = tight != nullptr
                              ? tight + Ring::vector(i)
                              : vector_at(to, share.next + Ring::vector(i), params_.width);
        *at = round_vector(sums[i]);
      }
    }
  }

  /// Posts the flags of a chunk's sums once every CTA has stored its part.
  __device__ __forceinline__ void post_sums(int chunk) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    const auto last = static_cast<std::uint32_t>(params_.core.communication_ctas - 1);
    if (ptx::count_up(&c_.control->results[chunk], last) != last) return;
    for (int receiver = 0; receiver < params_.receivers; ++receiver)
      if (params_.posted[receiver] != nullptr)
        post(c_, params_.posted[receiver] + chunk, sequence_, number_of(chunk));
  }

  const Params& params_;
  const Coordination& c_;
  Signal sequence_;
  int own_;  ///< the owner whose rows are added
  Ring ring_;
  Share ahead_{};         ///< what is loaded next, of every source in turn
  int source_ = 0;        ///< whose vectors of it come next
  int landed_ = 0;        ///< chunks before this one have landed, as far as is known
  bool stopped_ = false;  ///< there is nothing to load before a wait
};

}  // namespace weft::kernels
