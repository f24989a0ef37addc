// SPDX-License-Identifier: Apache-2.0
// A device and kernels of round numbers for tests of what products cost.
#pragma once

#include "tests/models/cost/sample_profile.hpp"

namespace weft::model::testing {

using namespace literals;

inline GemmTile square_tile(std::int64_t edge, std::int64_t cluster_m = 1) {
  return {.tile_m = edge,
          .tile_n = edge,
          .tile_k = 64,
          .stages = 4,
          .cluster_m = cluster_m,
          .cluster_n = 1,
          .threads = 384,
          .registers_per_thread = 168,
          .shared_memory = 128_KiB,
          .persistent = true,
          .source = {SourceKind::assumed, "test"}};
}

/// The round profile, where a tile costs nothing but its matrix work at a full clock.
inline Profile with_gemm() {
  Profile profile = sample_profile();
  GemmConstants gemm;
  gemm.start = given(3_us);
  gemm.prologue = given(Duration{});
  gemm.step = given(Duration{});
  gemm.matrix_efficiency = given(1.0);
  gemm.epilogue_exposed = given(0.0);
  gemm.hbm_efficiency = given(1.0);
  gemm.l2_efficiency = given(1.0);
  gemm.sustained_clock = given(1.0);
  gemm.power_exponent = given(1.0);
  gemm.power_limited_clock = given(1.0);
  gemm.tiles = {square_tile(128), square_tile(64)};
  profile.gemm = gemm;
  profile.gpu.l2 = given(4000_TBps);
  profile.gpu.hbm = given(4000_TBps);
  return profile;
}

}  // namespace weft::model::testing
