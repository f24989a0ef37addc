// SPDX-License-Identifier: Apache-2.0
// How the elements of a tensor are stored, and how many bytes that takes.
//
// bytes = ceil(elements * bits / 8) + ceil(elements / scale_block) * bytes of a scale. A scale
// block is counted in elements (1x128 activations: 128; 128x128 weights: 16384; MX formats: 32).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/units/bytes.hpp"

namespace weft {

enum class DType : std::uint8_t {
  fp32,
  tf32,
  fp16,
  bf16,
  fp8_e4m3,
  fp8_e5m2,
  int8,
  fp4_e2m1,
  ue8m0
};

inline constexpr DType every_dtype[] = {DType::fp32, DType::tf32,     DType::fp16,
                                        DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2,
                                        DType::int8, DType::fp4_e2m1, DType::ue8m0};

/// Bits of one stored element; tf32 is stored as 32 bits.
constexpr int bits_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return 32;
    case DType::fp16:
    case DType::bf16:
      return 16;
    case DType::fp8_e4m3:
    case DType::fp8_e5m2:
    case DType::int8:
    case DType::ue8m0:
      return 8;
    case DType::fp4_e2m1:
      return 4;
  }
  return 0;
}

/// The name used in scenarios and reports.
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return "fp32";
    case DType::tf32:
      return "tf32";
    case DType::fp16:
      return "fp16";
    case DType::bf16:
      return "bf16";
    case DType::fp8_e4m3:
      return "fp8_e4m3";
    case DType::fp8_e5m2:
      return "fp8_e5m2";
    case DType::int8:
      return "int8";
    case DType::fp4_e2m1:
      return "fp4_e2m1";
    case DType::ue8m0:
      return "ue8m0";
  }
  return "unknown";
}

/// The dtype of a name, or of the names that PyTorch and NCCL give it; none if unknown.
constexpr std::optional<DType> dtype_of(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const DType dtype : every_dtype) {
    if (text == name_of(dtype)) return dtype;
  }
  if (text == "bfloat16") return DType::bf16;
  if (text == "float16" || text == "half") return DType::fp16;
  if (text == "float32" || text == "float") return DType::fp32;
  if (text == "fp8" || text == "float8_e4m3fn") return DType::fp8_e4m3;
  if (text == "float8_e5m2") return DType::fp8_e5m2;
  return std::nullopt;
}

/// A dtype with, for scaled formats, one scale for every block of elements.
struct TensorFormat {
  DType element = DType::bf16;
  DType scale = DType::fp32;
  std::int64_t scale_block = 0;  ///< elements that share a scale; 0: the format has no scales
  friend constexpr bool operator==(const TensorFormat&, const TensorFormat&) = default;
};

/// Bytes of `elements` packed elements without their scales.
constexpr Bytes bytes_of(DType dtype, std::int64_t elements) {
  const std::int64_t nibbles = elements * (bits_of(dtype) / 4);
  return Bytes::from(nibbles / 2 + nibbles % 2);
}

/// Bytes of `elements` elements with their scales.
constexpr Bytes bytes_of(const TensorFormat& format, std::int64_t elements) {
  const Bytes values = bytes_of(format.element, elements);
  if (format.scale_block == 0 || elements == 0) return values;
  return values + bytes_of(format.scale, (elements - 1) / format.scale_block + 1);
}

}  // namespace weft
