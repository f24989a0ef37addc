// SPDX-License-Identifier: Apache-2.0
// Matrix multiply by a warpgroup (PTX ISA 8.7, section 9.7.15): 64 x N x 16, bf16 operands from
// shared memory, both K-major under the 128-byte swizzle, fp32 sums in registers.
#pragma once

#include <cstdint>

namespace weft::kernels::wgmma {

/// Returns the descriptor of an operand at `address` (1,024-byte aligned rows of 128 bytes, groups
/// of eight rows 1,024 bytes apart). Adding 2 moves it by 16 elements of K, adding 8 by one row.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  constexpr std::uint64_t leading = 1ull << 16;        // unused by swizzled K-major layouts
  constexpr std::uint64_t group_stride = 64ull << 32;  // 1,024 bytes in units of 16
  constexpr std::uint64_t swizzle_128 = 1ull << 62;
  return ((address & 0x3FFFFu) >> 4) | leading | group_stride | swizzle_128;
}

/// Orders register and shared-memory accesses before the multiplications that follow.
__device__ __forceinline__ void fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `kLeft` committed groups are running.
template <int kLeft>
__device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Operand lists, 32 registers a piece.
#define WEFT_R8(i)                                                                            \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define WEFT_R32(i) WEFT_R8(i), WEFT_R8(i + 8), WEFT_R8(i + 16), WEFT_R8(i + 24)
#define WEFT_N32                                           \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WEFT_N40 WEFT_N32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WEFT_N64                                                     \
  WEFT_N40                                                           \
  ",%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55" \
  ",%56,%57,%58,%59,%60,%61,%62,%63"
#define WEFT_N72 WEFT_N64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WEFT_N80 WEFT_N72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define WEFT_N88 WEFT_N80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define WEFT_N96 WEFT_N88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WEFT_N112 \
  WEFT_N96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WEFT_N128 \
  WEFT_N112 ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

/// d (+)= a b^T for one 64 x kN x 16 step; `accumulate` 0 overwrites d.
template <int kN>
struct Step;

#define WEFT_WGMMA(kN, shape, numbers, a_index, b_index, p_index, ...)                    \
  template <>                                                                             \
  struct Step<kN> {                                                                       \
    static __device__ __forceinline__ void run(float (&d)[kN / 2], std::uint64_t a,       \
                                               std::uint64_t b, int accumulate) {         \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_index                            \
                   ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32.bf16.bf16 {" numbers \
                   "}, " a_index ", " b_index ", p, 1, 1, 0, 0;\n}"                       \
                   : __VA_ARGS__                                                          \
                   : "l"(a), "l"(b), "r"(accumulate));                                    \
    }                                                                                     \
  };

WEFT_WGMMA(64, "m64n64k16", WEFT_N32, "%32", "%33", "%34", WEFT_R32(0))
WEFT_WGMMA(80, "m64n80k16", WEFT_N40, "%40", "%41", "%42", WEFT_R32(0), WEFT_R8(32))
WEFT_WGMMA(128, "m64n128k16", WEFT_N64, "%64", "%65", "%66", WEFT_R32(0), WEFT_R32(32))
WEFT_WGMMA(144, "m64n144k16", WEFT_N72, "%72", "%73", "%74", WEFT_R32(0), WEFT_R32(32), WEFT_R8(64))
WEFT_WGMMA(160, "m64n160k16", WEFT_N80, "%80", "%81", "%82", WEFT_R32(0), WEFT_R32(32), WEFT_R8(64),
           WEFT_R8(72))
WEFT_WGMMA(176, "m64n176k16", WEFT_N88, "%88", "%89", "%90", WEFT_R32(0), WEFT_R32(32), WEFT_R8(64),
           WEFT_R8(72), WEFT_R8(80))
WEFT_WGMMA(192, "m64n192k16", WEFT_N96, "%96", "%97", "%98", WEFT_R32(0), WEFT_R32(32),
           WEFT_R32(64))
WEFT_WGMMA(224, "m64n224k16", WEFT_N112, "%112", "%113", "%114", WEFT_R32(0), WEFT_R32(32),
           WEFT_R32(64), WEFT_R8(96), WEFT_R8(104))
WEFT_WGMMA(256, "m64n256k16", WEFT_N128, "%128", "%129", "%130", WEFT_R32(0), WEFT_R32(32),
           WEFT_R32(64), WEFT_R32(96))

#undef WEFT_WGMMA
#undef WEFT_N128
#undef WEFT_N112
#undef WEFT_N96
#undef WEFT_N88
#undef WEFT_N80
#undef WEFT_N72
#undef WEFT_N64
#undef WEFT_N40
#undef WEFT_N32
#undef WEFT_R32
#undef WEFT_R8

}  // namespace weft::kernels::wgmma
