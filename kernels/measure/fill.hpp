// SPDX-License-Identifier: Apache-2.0
// Inputs that are never zeros, outputs that are poisoned, and the check of what came out.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace weft::kernels {

/// Fills with bf16 drawn from about a normal distribution of deviation `scale`, by counter and seed.
void fill_random_bf16(std::byte* target, std::size_t bytes, std::uint64_t seed, float scale,
                      cudaStream_t stream);

/// Fills with the bf16 NaN 0xffff, which no kernel here produces.
void fill_poison(std::byte* target, std::size_t bytes, cudaStream_t stream);

/// What a check found; zero it before use.
struct CheckResult {
  unsigned long long poison = 0;  ///< elements that nobody wrote
  float worst = 0;  ///< largest |out - reference| / tolerance over the sampled elements
  unsigned int sampled = 0;
};

/// One matrix product to check by sampled elements: rows [0, m) of out = x w^T (+ sum of addends).
struct ProductCheck {
  const std::byte* x = nullptr;      ///< [m, k] bf16
  const std::byte* w = nullptr;      ///< [n, k] bf16
  const std::byte* out = nullptr;    ///< [m, n] bf16
  const std::byte* addends[8] = {};  ///< [m, n] bf16 each
  int addend_count = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int samples = 1024;
  std::uint64_t seed = 1;
};

/// Compares sampled elements with an fp32 dot product (`worst` <= 1 is right: the tolerance is what
/// bf16 rounding of operands, sums and result allows) and counts poison over all of `out`.
void check_product(const ProductCheck& check, CheckResult* result, cudaStream_t stream);

/// Counts 16-byte vectors that differ, into `poison`.
void check_equal(const std::byte* a, const std::byte* b, std::size_t bytes, CheckResult* result,
                 cudaStream_t stream);

/// Compares `out` with the fp32 sum of `count` bf16 arrays, every element; whoever made it may have
/// rounded to bf16 `roundings` times, as one does who adds the ranks' arrays one after the other in bf16.
void check_sum(const std::byte* out, const std::byte* const* addends, int count, std::size_t bytes,
               int roundings, CheckResult* result, cudaStream_t stream);

}  // namespace weft::kernels
