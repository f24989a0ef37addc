// SPDX-License-Identifier: Apache-2.0
// Writes what Transformer Engine and Megatron-LM read: the tp_comm_overlap_cfg file, and ub_cfgs.
#pragma once

#include <string>
#include <vector>

#include "models/import/tp_overlap.hpp"

namespace weft::model {

/// The file for --tp-comm-overlap-cfg; `header` becomes comments. Throws CheckFailure for settings
/// that Transformer Engine would refuse.
[[nodiscard]] std::string to_tp_overlap_yaml(const std::vector<UbGemm>& gemms,
                                             const std::vector<std::string>& header);

/// The same as a Python assignment to ub_cfgs.
[[nodiscard]] std::string to_ub_cfgs(const std::vector<UbGemm>& gemms,
                                     const std::vector<std::string>& header);

}  // namespace weft::model
