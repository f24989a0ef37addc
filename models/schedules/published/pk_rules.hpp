// SPDX-License-Identifier: Apache-2.0
// What the ParallelKittens kernels share: they are compiled for 8 GPUs of one NVSwitch node of Hopper.
#pragma once

#include <string_view>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"

namespace weft::model {

inline constexpr std::string_view pk_citation =
    "HazyResearch/ThunderKittens at 0b55588: kernels/parallel; arXiv 2511.13940";

/// NUM_DEVICES = 8, a switch that multicasts, Hopper, whole tiles for each rank.
void pk_rules(const FusedView& view, const Site& site, int margin, Rules& broken);

/// SM time of a communicating CTA for so many bytes: the rate of one copying CTA.
[[nodiscard]] Duration pk_move_time(const Site& site, Bytes bytes);

}  // namespace weft::model
