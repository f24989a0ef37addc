// SPDX-License-Identifier: Apache-2.0
// The program of a persistent product whose CTAs wait for, or post, the flags of chunks.
#pragma once

#include <string_view>

#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// Appends the fused product and whoever moves its chunks to every rank's streams.
void emit_flag_program(const FusedView& view, const Knobs& knobs, std::string_view label,
                       LayerProgram& program);

}  // namespace weft::model
