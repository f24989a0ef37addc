// SPDX-License-Identifier: Apache-2.0
// Reads NCCL's topology XML: what NCCL_TOPO_DUMP_FILE wrote, or what somebody wrote by hand for
// NCCL_TOPO_FILE. docs/formats.md says what is read, ignored and refused.
#pragma once

#include <string>
#include <string_view>

#include "topologies/import/survey.hpp"

namespace weft::topology {

/// Reads the file's text; throws config::ConfigErrors for what is none, is cut, or contradicts
/// itself.
[[nodiscard]] Survey read_nccl_xml(std::string_view text, const std::string& name);

}  // namespace weft::topology
