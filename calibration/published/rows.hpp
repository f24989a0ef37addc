// SPDX-License-Identifier: Apache-2.0
// Published figures that state enough to be predicted, as they stand in their sources; and those that do not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/cost/gemm.hpp"
#include "models/workloads/boundary.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/dtype.hpp"

namespace weft::calibration {

/// A product with its collective under a system, against the unfused way or as a time.
struct PublishedBoundary {
  std::string_view system;
  std::string_view machine;  ///< file in configs/machines
  std::string_view schedule;
  model::BoundaryKind kind = model::BoundaryKind::ag_gemm;
  int ranks = 8;
  std::int64_t m = 0, n = 0, k = 0;  ///< of the whole group
  double unfused_ms = 0;             ///< 0: not stated
  double fused_ms = 0;               ///< 0: not stated
  double speedup = 0;                ///< unfused over fused; 0: not stated
  std::string_view knob;     ///< "fuse_reduction=1": what the row fixes; empty: the schedule's best
  std::string_view assumed;  ///< what the source does not say
  std::string_view source;
  bool machine_stated = true;
  DType dtype = DType::bf16;  ///< of operands and result
};

/// How a published collective was carried.
enum class PublishedWay : std::uint8_t { chosen, ring, nvls, symmetric, copy_engine };

/// A collective of a whole group, or a copy between two GPUs, with a time or a rate.
struct PublishedCollective {
  std::string_view machine;
  CollectiveOp op = CollectiveOp::all_gather;
  PublishedWay way = PublishedWay::chosen;
  int ranks = 8;
  std::int64_t bytes = 0;  ///< of the whole tensor
  double us = 0;           ///< 0: a rate is stated
  double busbw_gbps = 0;   ///< bus bandwidth as nccl-tests defines it; 0: a time is stated
  std::string_view assumed;
  std::string_view source;
  bool machine_stated = true;
};

/// A copy by copy engine between two GPUs, one way or both at once.
struct PublishedCopy {
  std::string_view machine;
  bool both_ways = false;
  double gbps = 0;  ///< of both directions together
  std::string_view source;
};

/// A product of one GPU.
struct PublishedProduct {
  std::string_view what;
  std::string_view machine;
  std::int64_t m = 0, n = 0, k = 0;
  model::GemmLibrary library = model::GemmLibrary::cublaslt;
  double tflops = 0;
  std::string_view assumed;
  std::string_view source;
};

/// A published row that is not predicted, and why.
struct PublishedUncovered {
  std::string_view what;
  std::string_view published;
  std::string_view why;
  std::string_view source;
};

[[nodiscard]] std::span<const PublishedBoundary> published_boundaries();
[[nodiscard]] std::span<const PublishedCollective> published_collectives();
[[nodiscard]] std::span<const PublishedCopy> published_copies();
[[nodiscard]] std::span<const PublishedProduct> published_products();
[[nodiscard]] std::span<const PublishedUncovered> published_uncovered();

/// Rows that contradict each other or physics: one sentence each.
[[nodiscard]] std::span<const std::string_view> published_contradictions();

}  // namespace weft::calibration
