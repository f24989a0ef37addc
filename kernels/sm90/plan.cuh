// SPDX-License-Identifier: Apache-2.0
// What the plan of a kernel holds, and the host steps that every plan shares: checks, tensor maps,
// grid, and the parameters that all modes begin with.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cuda.h>

#include "kernels/sm90/chunks.cuh"
#include "kernels/sm90/gemm.hpp"
#include "kernels/sm90/kernel.cuh"

namespace weft::kernels {

/// The most bytes of kernel parameters (CUDA C++ Programming Guide, function parameters).
inline constexpr std::size_t parameter_limit = 4'096;

struct Plan::State {
  std::string_view name;
  const void* kernel = nullptr;
  int tile = 0;
  int cluster = 1;
  int grid = 0;
  int threads = 384;
  int shared_bytes = 0;
  std::vector<std::shared_ptr<void>> memory;  ///< device memory that the kernel works with
  std::size_t sequence_at = 0;  ///< offset of Coordination::sequence in the parameters
  alignas(128) std::array<std::byte, parameter_limit> parameters{};

  /// Keeps a copy of `params`, whose coordination lies at `coordination_at`.
  template <class Params>
  void keep(const Params& params, std::size_t coordination_at) {
    static_assert(sizeof(Params) <= parameter_limit);
    std::memcpy(parameters.data(), &params, sizeof(Params));
    sequence_at = coordination_at + offsetof(Coordination, sequence);
  }
};

/// The instances of a mode's kernel, one for each entry of the tile table.
template <class Mode, std::size_t... kTiles>
const void* kernel_of(int tile, std::index_sequence<kTiles...>) {
  static const std::array<const void*, sizeof...(kTiles)> kernels{
      reinterpret_cast<const void*>(&tile_kernel<static_cast<int>(kTiles), Mode>)...};
  return kernels[static_cast<std::size_t>(tile)];
}

/// Returns the kernel of `Mode` for entry `tile` of the table.
template <class Mode>
const void* kernel_of(int tile) {
  return kernel_of<Mode>(tile, std::make_index_sequence<shapes::tiles.size()>{});
}

/// Collects what is wrong with a request, and throws it all at once.
class Complaints {
 public:
  explicit Complaints(std::string_view kernel) : kernel_(kernel) {}
  /// Notes `what` unless `holds`.
  void require(bool holds, const std::string& what) {
    if (!holds) text_ += "\n  " + what;
  }
  /// Throws std::invalid_argument if anything was noted.
  void done() const;

 private:
  std::string kernel_;
  std::string text_;
};

/// Checks what every product must keep: extents, alignment, strides.
void check_product(const Product& product, const Options& options, int communication_ctas,
                   Complaints& complaints);
/// Checks that `matrix` can be stored to in rows of `columns` elements.
void check_matrix(const Matrix& matrix, int columns, const std::string& what,
                  Complaints& complaints);

/// Checks rank, ranks and chunks of a group.
void check_group(int rank, int ranks, int chunks_per_shard, Complaints& complaints);

/// Returns the tile that was chosen for `state`.
inline const shapes::Tile& tile_of(const Plan::State& state) {
  return shapes::tiles[static_cast<std::size_t>(state.tile)];
}
/// Returns `matrix` as rows of 16-byte vectors.
Vectors vectors_of(const Matrix& matrix, int columns);

/// Returns the map of a row-major bf16 matrix for boxes of box_rows x box_columns.
CUtensorMap tensor_map(const void* data, int rows, int columns, std::int64_t stride, int box_rows,
                       int box_columns);
/// Returns the map through which a tile's slots are stored to `matrix`.
CUtensorMap slot_map(const Matrix& matrix, int rows, int columns, const shapes::Tile& tile);

/// Returns what a kernel needs to wait, post and pace.
Coordination coordination_of(const Options& options, const Workspace& workspace);

/// Allocates device memory that lives as long as `state`.
void* keep_memory(std::size_t bytes, Plan::State& state);

/// Fills in what all GEMM modes share; `first_row` is the row of X that the tile order begins with, `owners`
/// those whose rows begin tiles of their own. Chooses tile and grid, and sets them in `state`.
CoreParams core_params(const Product& product, const Options& options, const Workspace& workspace,
                       int communication_ctas, int first_row, Plan::State& state,
                       const void* (*kernel_of_tile)(int),
                       const shapes::Ownership* owners = nullptr);

/// As above, for the kernels of `Mode`.
template <class Mode>
CoreParams core_params(const Product& product, const Options& options, const Workspace& workspace,
                       int communication_ctas, int first_row, Plan::State& state) {
  return core_params(product, options, workspace, communication_ctas, first_row, state,
                     &kernel_of<Mode>);
}

}  // namespace weft::kernels
