// SPDX-License-Identifier: Apache-2.0
// What Transformer Engine's UserBuffers schedules share: their rules, their compute streams, and the method that
// Transformer Engine takes for each product of a layer unless told otherwise.
//
// Source: NVIDIA/TransformerEngine at d0067d0, transformer_engine/pytorch/module/base.py (defaults),
// transformer_engine/common/comm_gemm_overlap/comm_gemm_overlap.cpp (graphs).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/schedules/graph_writer.hpp"
#include "models/schedules/pair_schedule.hpp"

namespace weft::model {

inline constexpr std::string_view te_citation =
    "NVIDIA/TransformerEngine at d0067d0: pytorch/module/base.py, "
    "common/comm_gemm_overlap/comm_gemm_overlap.cpp, common/comm_gemm_overlap/userbuffers";

/// Rules of every UserBuffers overlap: one NVLink domain, sequence parallelism, tokens that divide.
void te_rules(const FusedView& view, const Site& site, Rules& broken);

/// The stream of GEMM `index`: Transformer Engine deals them to three (_NUM_MAX_UB_STREAMS).
[[nodiscard]] sim::StreamId te_compute(GraphWriter& graph, int rank, int index);
/// Lets the other compute streams start after the first, and the first go on after the others.
void te_fork(GraphWriter& graph, int rank);
void te_join(GraphWriter& graph, int rank);

/// How Transformer Engine overlaps a product by default: "ring_exchange", "pipeline", "bulk" or "external".
/// `product` is qkv, proj, fc1 or fc2; `pass` is fprop, dgrad or wgrad. None where it overlaps nothing.
[[nodiscard]] std::optional<std::string_view> te_default_method(std::string_view product,
                                                                std::string_view pass);

}  // namespace weft::model
