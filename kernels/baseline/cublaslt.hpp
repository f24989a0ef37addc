// SPDX-License-Identifier: Apache-2.0
// The library GEMM that everything is compared with: cuBLASLt, loaded when present, with the best of
// its heuristics and an SM-count target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace weft::kernels {

/// The kernel that a library runs for a problem, as it tells and as a captured launch shows.
struct LibraryKernel {
  std::string name;      ///< of the device function; empty where the library hides it
  int tile_rows = 0;     ///< rows of X a tile
  int tile_columns = 0;  ///< rows of W a tile
  int tile_depth = 0;
  int stages = 0;
  int cluster_rows = 1;
  int cluster_columns = 1;
  int split_k = 1;
  int grid = 0;     ///< CTAs
  int threads = 0;  ///< a CTA
};

/// Y = X W^T in bf16 with fp32 accumulation: X [m, k], W [n, k], Y [m, n], all row-major and dense.
struct LibraryProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int sm_target = 0;  ///< SMs the library may count on; 0: all
};

/// cuBLASLt with a workspace of its own. One object serves one stream at a time.
class CublasLt {
 public:
  /// Throws std::runtime_error where the library cannot be loaded.
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  /// A problem with one of the algorithms that the heuristics propose.
  class Gemm;

  /// The proposals for a problem, best first as the library ranks them.
  std::vector<std::shared_ptr<const Gemm>> propose(const LibraryProblem& problem, int most) const;
  /// Runs one on `stream`.
  void run(const Gemm& gemm, const void* x, const void* w, void* y, cudaStream_t stream) const;
  /// The kernel that a proposal runs; captures a launch, so the stream must be idle.
  LibraryKernel kernel_of(const Gemm& gemm, const void* x, const void* w, void* y,
                          cudaStream_t stream) const;
  /// The library's version number.
  std::size_t version() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Tile, stages and cluster read off the name of a cuBLASLt kernel
/// (`nvjet_sm90_tst_192x128_64x4_2x1_v_bz_coopA_TNT`); false where the name is of another form. The
/// library sees Y transposed: its first extent counts rows of W.
bool read_kernel_name(const std::string& name, LibraryKernel& kernel);

}  // namespace weft::kernels
