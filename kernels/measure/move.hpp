// SPDX-License-Identifier: Apache-2.0
// One transfer of a case, by a copy engine or by CTAs, prepared so that enqueuing it is a call or two.
#pragma once

#include <functional>
#include <vector>

#include "kernels/measure/cut.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Bytes from one rank's memory to another's.
struct Move {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// Prepares moves that follow each other, driven by `rank`: one copy each, or one launch for all. With
/// `posts`, move i raises flag i; with `waits` (CTAs only) it begins when flag i is there. The value to
/// write and to wait for is then read at each call from `sequence`.
std::function<void(cudaStream_t)> make_moves(Stage& stage, int rank, const std::vector<Move>& moves,
                                             const Cut& cut, Signal* posts = nullptr,
                                             const Signal* sequence = nullptr,
                                             const Signal* waits = nullptr);

/// Prepares target = sum of bf16 arrays of `bytes` each, in fp32 and in this order, by `ctas` CTAs.
std::function<void(cudaStream_t)> make_sum(Stage& stage, int rank,
                                           const std::vector<const std::byte*>& addends,
                                           std::byte* target, std::int64_t bytes, int ctas);

/// Sets of buffers that a case of `bytes` rotates through, so that nothing it reads is in the L2 still.
int rotating_sets(std::int64_t bytes);

}  // namespace weft::kernels
