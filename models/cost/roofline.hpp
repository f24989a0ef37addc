// SPDX-License-Identifier: Apache-2.0
// What the operators around the GEMMs cost: attention, normalisation, element-wise, embedding.
//
//   memory-bound:  start + bytes / min(HBM rate * efficiency, SMs * rate of an SM)
//   attention:     start + tiles * (prologue + pairs of a tile * 4 d / matrix rate of an SM) / SMs,
//                  and the wait for the last of unequal tiles, or whole waves of equal ones; never
//                  under its bytes at the HBM rate; a tile is 128 query rows of one head
//   decode:        one query row a head: the KV cache is read once, so it is memory-bound
//
// The arithmetic intensity at which the two limits meet is the knee of the roofline.
#pragma once

#include <cstdint>
#include <optional>

#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"

namespace weft::model {

/// A kernel that is not a GEMM, in the terms that a simulated kernel needs.
struct KernelCost {
  sim::Footprint footprint;
  std::int64_t ctas_per_sm = 1;
  std::int64_t tiles = 0;
  std::int64_t waves = 0;
  Duration start;
  Duration tile_time;  ///< SM time of one tile
  Bytes hbm_per_tile;
  Flops flops;
  Bytes hbm_bytes;
  Duration time;  ///< alone, launch included
  SourceKind source = SourceKind::assumed;
};

/// A kernel that reads and writes `bytes` of HBM and computes next to nothing.
[[nodiscard]] KernelCost memory_cost(const Profile& profile, Bytes bytes, const SmBudget& budget);

/// Normalisation over the last dimension of [rows, width]: one read, one write, and the residual if
/// any.
[[nodiscard]] KernelCost norm_cost(const Profile& profile, std::int64_t rows, std::int64_t width,
                                   DType dtype, bool residual, const SmBudget& budget);

/// An element-wise kernel over `elements` with so many input and output tensors.
[[nodiscard]] KernelCost elementwise_cost(const Profile& profile, std::int64_t elements, int inputs,
                                          int outputs, DType dtype, const SmBudget& budget);

/// Gathers `rows` rows of `width` from a table: each row is read and written once.
[[nodiscard]] KernelCost embedding_cost(const Profile& profile, std::int64_t rows,
                                        std::int64_t width, DType dtype, const SmBudget& budget);

struct AttentionProblem {
  std::int64_t batch = 1;
  std::int64_t query_tokens = 0;  ///< of one sequence, in this call
  std::int64_t key_tokens = 0;    ///< of one sequence, cache included
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = true;
  std::optional<std::int64_t> window = std::nullopt;  ///< sliding window, in keys
  DType dtype = DType::bf16;
  bool backward = false;  ///< five products for the forward's two
  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

/// Query-key pairs that one head of one sequence computes.
[[nodiscard]] std::int64_t attention_pairs(const AttentionProblem& problem);

/// 4 * head_dim operations a pair forward, 10 backward.
[[nodiscard]] Flops attention_flops(const AttentionProblem& problem);

/// Prefill, or decode where a sequence has so few query rows that reading its KV cache is what
/// takes time.
[[nodiscard]] KernelCost attention_cost(const Profile& profile, const AttentionProblem& problem,
                                        const SmBudget& budget);

}  // namespace weft::model
