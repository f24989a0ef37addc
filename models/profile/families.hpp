// SPDX-License-Identifier: Apache-2.0
// Names of the families of a profile's errors (FamilyError): what tests a fit writes them, and what gives a
// prediction its interval looks for them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace weft::model::families {

// Of our samples.
inline constexpr std::string_view new_library_products = "GEMM, cuBLASLt, N and K never measured";
/// With by_kernels: their errors are told apart by whose kernels multiply.
inline constexpr std::string_view chunked_peers = "chunked over NVLink";

inline constexpr std::string_view our_kernels = "our kernels", cublaslt_kernels = "cuBLASLt";
[[nodiscard]] inline std::string by_kernels(std::string_view family, std::string_view kernels) {
  return std::string(family).append(", ").append(kernels);
}
inline constexpr std::string_view flags_peers = "device flags over NVLink";

// Of published tables.
inline constexpr std::string_view library_products = "library GEMM bf16";
inline constexpr std::string_view prefill_attention = "prefill attention bf16";
/// Nobody writes these so far: a profile may bring its own.
inline constexpr std::string_view decode_attention = "decode attention bf16";

/// The messages whose collectives are of a family.
struct OfMessages {
  std::string_view family;
  std::int64_t from, below;  ///< B

  [[nodiscard]] constexpr bool has(std::int64_t bytes) const {
    return bytes >= from && bytes < below;
  }
};

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// Collectives of our samples, which say more than those of published tables.
inline constexpr OfMessages collectives[] = {
    {"NCCL on NVLink, 2..8 GPUs, >= 64 KiB", 64 << 10, no_limit},
    {"NCCL on NVLink, 2..8 GPUs, 8 to 32 KiB", 8 << 10, (32 << 10) + 1}};
inline constexpr OfMessages table_collectives[] = {
    {"collectives below 16 KiB", 0, 16 << 10},
    {"collectives 16 KiB to 1 MiB", 16 << 10, 1 << 20},
    {"collectives from 1 MiB", 1 << 20, no_limit}};

}  // namespace weft::model::families
