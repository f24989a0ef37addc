// SPDX-License-Identifier: Apache-2.0
// The PTX that the kernels speak: barriers in shared memory, the tensor copy engine, clusters, and
// flags in global memory (PTX ISA 8.7, sections 9.7.9, 9.7.13 and 9.7.14). One function an
// instruction.
#pragma once

#include <cstdint>

#include <cuda.h>

#include "kernels/sm90/ptx_matrices.cuh"

namespace weft::kernels::ptx {

/// Returns the shared-memory address of `pointer`, as instructions take it.
__device__ __forceinline__ std::uint32_t shared(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Barriers in shared memory.

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the cluster and to the copy engine.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the barrier that lies at the same address in CTA `cta` of the cluster. The plain form
/// orders what multiplications and the copy engine have finished; ordinary accesses need
/// `kRelease`, which costs a fence of the whole SM.
template <bool kRelease>
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, std::uint32_t cta) {
  if constexpr (kRelease) {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(cta)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(cta)
        : "memory");
  }
}

/// Arrives and expects `bytes`. By a whole warp, for one of its threads.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile(
      "{\n.reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\n"
      "@one mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n}" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}

/// Waits until the barrier's phase of this parity is complete; acquires what CTA or cluster
/// released.
template <bool kCluster>
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  do {
    if constexpr (kCluster) {
      asm volatile(
          "{\n.reg .pred p;\n"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    } else {
      asm volatile(
          "{\n.reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    }
  } while (done == 0);
}

/// Returns whether the barrier's phase of this parity is complete, without waiting.
__device__ __forceinline__ bool barrier_done(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Clusters.

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// The two halves of waiting for every thread of the cluster.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Waits for every thread of the cluster.
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// Writes `value` to the word at `address` in CTA `cta` and counts its four bytes on `barrier`
/// there.
__device__ __forceinline__ void store_word_at(std::uint32_t address, std::uint32_t barrier,
                                              std::uint32_t value, std::uint32_t cta) {
  asm volatile(
      "{\n.reg .b32 there, bar;\n"
      "mapa.shared::cluster.u32 there, %0, %3;\n"
      "mapa.shared::cluster.u32 bar, %1, %3;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [there], %2, [bar];\n}" ::"r"(
          address),
      "r"(barrier), "r"(value), "r"(cta)
      : "memory");
}

/// Writes `value` to the word at `address` in this CTA.
__device__ __forceinline__ void store_word(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__device__ __forceinline__ std::uint32_t load_word(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// Returns where the shared-memory address of this CTA lies in CTA `cta` of the cluster.
__device__ __forceinline__ std::uint32_t address_at(std::uint32_t address, std::uint32_t cta) {
  std::uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(cta));
  return there;
}

/// Stores four floats to another CTA's shared memory.
__device__ __forceinline__ void store_floats_at(std::uint32_t there, float a, float b, float c,
                                                float d) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(there), "f"(a), "f"(b),
               "f"(c), "f"(d)
               : "memory");
}

__device__ __forceinline__ float4 load_floats(std::uint32_t address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// The tensor copy engine.

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Loads the box at column x, row y, and counts its bytes on `barrier`. By a whole warp with the same
/// arguments, one of whose threads does it: the compiler then sees that they are uniform, as the
/// instruction wants them, where a thread alone would first have to prove that it is alone.
__device__ __forceinline__ void load_box(std::uint32_t to, const CUtensorMap* map,
                                         std::uint32_t barrier, int x, int y) {
  asm volatile(
      "{\n.reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\n"
      "@one cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];\n}" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/// As load_box, into every CTA of `ctas` (a bit each), at the same address and barrier there.
__device__ __forceinline__ void load_box_multicast(std::uint32_t to, const CUtensorMap* map,
                                                   std::uint32_t barrier, int x, int y,
                                                   std::uint16_t ctas) {
  asm volatile(
      "{\n.reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\n"
      "@one cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;\n}" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(ctas)
      : "memory");
}

/// Returns true in one thread of a warp, the same one each time. By a whole warp.
__device__ __forceinline__ bool elected() {
  std::uint32_t one;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(one)
               :
               : "memory");
  return one != 0;
}

/// Stores the box at column x, row y. By a whole warp with the same arguments, whose elected thread does it.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t from, int x,
                                          int y) {
  asm volatile(
      "{\n.reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\n"
      "@one cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\n}" ::
          "l"(map),
      "r"(from), "r"(x), "r"(y)
      : "memory");
}

/// As store_box, adding.
__device__ __forceinline__ void add_box(const CUtensorMap* map, std::uint32_t from, int x, int y) {
  asm volatile(
      "{\n.reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\n"
      "@one cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], "
      "[%1];\n}" ::"l"(map),
      "r"(from), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but the last `kLeft` groups of this thread's stores have read their shared
/// memory.
template <int kLeft>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}

/// Waits until this thread's stores are complete and visible to it.
__device__ __forceinline__ void wait_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Orders this thread's writes to shared memory before later reads of it by the copy engine.
__device__ __forceinline__ void fence_shared_to_copy_engine() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Orders accesses to global memory between ordinary instructions and the copy engine.
__device__ __forceinline__ void fence_global_copy_engine() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// Flags and counters in global memory.

__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t* address) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ std::uint32_t load_relaxed(const std::uint32_t* address) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// Orders the relaxed loads before it against everything after it.
__device__ __forceinline__ void fence_acquire() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

__device__ __forceinline__ void store_release(std::uint32_t* address, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// As store_release, for readers on this device.
__device__ __forceinline__ void store_release_on_device(std::uint32_t* address,
                                                        std::uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void store_floats(float* address, const float* values) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(values[0]),
               "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
}

/// Loads four floats that another CTA of this device has written.
__device__ __forceinline__ float4 load_floats_from_l2(const float* address) {
  float4 v;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(address)
               : "memory");
  return v;
}

/// Adds one modulo `last` + 1 for threads of this device that need nothing but the count; returns the
/// value before.
__device__ __forceinline__ std::uint32_t count_up_relaxed(std::uint32_t* address,
                                                          std::uint32_t last) {
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(last)
               : "memory");
  return before;
}

/// Adds one modulo `last` + 1, releasing and acquiring at system scope; returns the value before.
__device__ __forceinline__ std::uint32_t count_up(std::uint32_t* address, std::uint32_t last) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.sys.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(last)
               : "memory");
  return before;
}

// Vectors of eight bf16.

__device__ __forceinline__ uint4 load_shared(std::uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

/// Adds eight bf16 to memory, two at a time.
__device__ __forceinline__ void add_bf16(uint4* address, uint4 v) {
  auto* words = reinterpret_cast<std::uint32_t*>(address);
  const std::uint32_t pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    asm volatile("red.relaxed.sys.global.add.noftz.bf16x2 [%0], %1;" ::"l"(words + i), "r"(pairs[i])
                 : "memory");
}

// Clocks and warps.

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// Waits until `threads` threads have come to named barrier `barrier`. By whole warps.
__device__ __forceinline__ void barrier_join(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Comes to named barrier `barrier` of `threads` threads without waiting there. By whole warps.
__device__ __forceinline__ void barrier_pass(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Returns the thread's index in its CTA, read once: a value that the compiler keeps, where it would read
/// the special register again and again, which takes longer than an issue of a multiplication.
__device__ __forceinline__ std::uint32_t thread_index() {
  std::uint32_t index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace weft::kernels::ptx
