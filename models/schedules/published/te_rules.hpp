// SPDX-License-Identifier: Apache-2.0
// What Transformer Engine's UserBuffers schedules share: their rules, their compute streams and their knobs.
//
// Source: NVIDIA/TransformerEngine at d0067d0, transformer_engine/pytorch/module/base.py (defaults),
// transformer_engine/common/comm_gemm_overlap/comm_gemm_overlap.cpp (graphs).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// num_sm and cga_size as Transformer Engine takes them, searched at these counts.
[[nodiscard]] KnobSpec te_num_sm(std::string meaning, std::vector<KnobValue> counts);
[[nodiscard]] KnobSpec te_cga_size();
/// Rules on both: grids and clusters that its kernels start with here.
void te_ctas(const Knobs& knobs, const Site& site, bool pipeline, Rules& broken);
/// CTAs of a collective that must start together: cga_size, where it divides them and the GPU has clusters.
[[nodiscard]] int te_cluster(const Knobs& knobs, const Site& site, std::int64_t ctas);

}  // namespace weft::model
