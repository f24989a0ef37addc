// SPDX-License-Identifier: Apache-2.0
// Published figures that state enough to be predicted, as they stand in their sources.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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
};

/// A collective of 8 H100 with a time.
struct PublishedCollective {
  CollectiveOp op = CollectiveOp::all_gather;
  bool symmetric = false;  ///< NCCL's symmetric kernels, else its rings
  std::int64_t bytes = 0;
  double us = 0;
  std::string_view source;
};

/// A library product of one H100.
struct PublishedProduct {
  std::int64_t m = 0, n = 0, k = 0;
  double tflops = 0;
  std::string_view source;
};

[[nodiscard]] std::span<const PublishedBoundary> published_boundaries();
[[nodiscard]] std::span<const PublishedCollective> published_collectives();
[[nodiscard]] std::span<const PublishedProduct> published_products();

/// Rows that are not predicted, and rows that contradict each other or physics: one sentence each.
[[nodiscard]] std::span<const std::string_view> published_not_covered();
[[nodiscard]] std::span<const std::string_view> published_contradictions();

}  // namespace weft::calibration
