// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cctype>

#include "kernels/baseline/cublaslt.hpp"

namespace weft::kernels {
namespace {

/// Reads `_<a>x<b>` at `at`, and moves behind it.
bool read_pair(const std::string& text, std::size_t& at, int& first, int& second) {
  if (at >= text.size() || text[at] != '_') return false;
  std::size_t here = at + 1;
  std::array<int, 2> values{};
  for (std::size_t part = 0; part < 2; ++part) {
    const std::size_t begin = here;
    while (here < text.size() && std::isdigit(static_cast<unsigned char>(text[here])) != 0 &&
           here - begin < 5)
      values[part] = values[part] * 10 + (text[here++] - '0');
    if (here == begin) return false;
    if (part == 0 && (here >= text.size() || text[here++] != 'x')) return false;
  }
  at = here;
  first = values[0];
  second = values[1];
  return true;
}

}  // namespace

bool read_kernel_name(const std::string& name, LibraryKernel& kernel) {
  if (name.rfind("nvjet_", 0) != 0) return false;
  for (std::size_t at = name.find('_'); at != std::string::npos; at = name.find('_', at + 1)) {
    std::size_t here = at;
    LibraryKernel read = kernel;
    if (!read_pair(name, here, read.tile_columns, read.tile_rows)) continue;
    if (!read_pair(name, here, read.tile_depth, read.stages)) continue;
    if (!read_pair(name, here, read.cluster_columns, read.cluster_rows)) continue;
    kernel = read;
    return true;
  }
  return false;
}

}  // namespace weft::kernels
