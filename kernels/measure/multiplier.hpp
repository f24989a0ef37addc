// SPDX-License-Identifier: Apache-2.0
// One product of rows, by our kernel or by the library, prepared so that running it is one launch.
#pragma once

#include <functional>
#include <string>

#include "calibration/sample/sample.hpp"
#include "kernels/measure/stage.hpp"
#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// Who multiplies and with which SMs.
struct GemmChoice {
  std::string library = "weft";  ///< weft or cublaslt
  int sms = 0;                   ///< SMs of the rank; 0: all of its partition
  int margin = 0;                ///< SMs left to others
  int tile = -1;                 ///< of our table; -1: chosen
  Scheduler scheduler = Scheduler::static_shares;
  int proposal = 0;  ///< of the library's heuristics, best first
};

/// A product with its operands: y = x w^T, dense rows.
struct Operands {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* x = nullptr;
  const void* w = nullptr;
  void* y = nullptr;
};

/// A prepared product: how to launch it and what it is.
struct Multiplier {
  std::function<void(cudaStream_t)> run;
  calibration::Kernel kernel;
};

/// Prepares a product on a rank; an empty one does nothing.
Multiplier make_multiplier(Stage& stage, int rank, const Operands& operands,
                           const GemmChoice& choice);

/// What a plan of ours looks like in a sample.
calibration::Kernel describe(int tile, int grid, std::string_view name, Scheduler scheduler);

}  // namespace weft::kernels
