// SPDX-License-Identifier: Apache-2.0
// Reads what `nvidia-smi topo -m` prints. docs/formats.md says what is read, ignored and refused.
#pragma once

#include <string>
#include <string_view>

#include "topologies/import/survey.hpp"

namespace weft::topology {

/// Returns whether the text looks like a topology matrix, or like something that is mistaken for one.
[[nodiscard]] bool looks_like_topo_matrix(std::string_view text);

/// Reads the matrix; throws config::ConfigErrors for what is none or contradicts itself.
[[nodiscard]] Survey read_topo_matrix(std::string_view text, const std::string& name);

}  // namespace weft::topology
