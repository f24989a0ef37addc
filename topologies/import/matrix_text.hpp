// SPDX-License-Identifier: Apache-2.0
// The text of `nvidia-smi topo -m` as a table of cells; what the cells mean is topo_matrix.cpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/foreign_text.hpp"

namespace weft::topology {

/// How two parts are joined, from near to far.
enum class Nearness : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys };

struct MatrixCell {
  Nearness nearness = Nearness::sys;
  std::int64_t links = 0;  ///< NVLinks
  friend bool operator==(const MatrixCell&, const MatrixCell&) = default;
};

/// A row: as many cells as the line holds, and the NUMA node of its tail.
struct MatrixRow {
  std::uint32_t line = 0;
  std::vector<MatrixCell> cells;
  std::optional<std::int64_t> numa;
};

struct MatrixText {
  std::vector<std::string> columns;
  std::uint32_t header_line = 0;
  std::map<std::string, MatrixRow> rows;
  std::map<std::string, std::string> legend;  ///< "NIC0" -> "mlx5_0"
};

/// Returns the cells that a word of glued ones holds ("SYSSYS", "NODEPIX"); fewer than all of it is none.
[[nodiscard]] std::optional<std::vector<MatrixCell>> cells_of(std::string_view word);

[[nodiscard]] bool is_gpu_name(std::string_view word);
/// Returns whether the word is how the matrix calls a NIC: NIC0, mlx5_0, ...
[[nodiscard]] bool is_nic_name(std::string_view word);

/// Reads the table; errors for text that holds none.
[[nodiscard]] MatrixText read_matrix_text(std::string_view text, config::Findings& findings);

}  // namespace weft::topology
