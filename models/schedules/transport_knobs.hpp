// SPDX-License-Identifier: Apache-2.0
// The knobs that weft's own fused schedules share: how many chunks, who moves them, and what SMs that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/knobs.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

inline constexpr std::int64_t default_chunks = 8;
inline constexpr std::int64_t default_ctas = 16;

/// chunks, transport, ctas, pace, margin and order, with every value that a search tries.
[[nodiscard]] const std::vector<KnobSpec>& transport_knobs();

/// Who moves the bytes.
[[nodiscard]] Transport transport_of(const Knobs& knobs);
[[nodiscard]] ChunkOrder order_of(const Knobs& knobs);

/// Whether a part of the rows is computed while another is moved: there are several, or a rank's own go apart.
[[nodiscard]] bool chunks_overlap(const Knobs& knobs);

/// Knobs of a transport that holds no SM set back to what they do not change: CTAs, pace and margin.
[[nodiscard]] Knobs without_sm_knobs(Knobs knobs);

/// Share of a link's rate that paced CTAs keep to, in thousandths. One H200 over PCIe: 5 % of rate buys a GEMM
/// that does not notice (measured, calibration/samples).
inline constexpr std::int64_t pace_permille = 950;

/// What paced CTAs of a rank keep to: what the site says, else a share of its port; none: it has no port.
[[nodiscard]] std::optional<Bandwidth> pace_of(const Site& site);

/// The rate at which the knobs' CTAs move bytes, all of them together and the pace included, whatever links carry.
[[nodiscard]] Bandwidth communication_rate(const Knobs& knobs, const Site& site);

/// Whether the pace holds the knobs' CTAs back at all: few CTAs never reach it.
[[nodiscard]] bool pace_binds(const Knobs& knobs, const Site& site);

/// The cost with its rate held to the pace's share of each rank's port.
[[nodiscard]] CollectiveCost paced(CollectiveCost cost, const Site& site);

/// The copy engine of `mover` that carries bytes between these two ranks.
[[nodiscard]] std::uint32_t copy_engine(int mover, int from, int to, const LayerProgram& program);

/// Emits the copies of a chunk on the rank's communication stream by its copy engine: what it pulls (gather) or
/// what it pushes to its owners.
void copy_chunk(const FusedView& view, const std::vector<Piece>& pieces, int rank, int chunk,
                LayerProgram& program);

/// How one chunk goes as a collective kernel of all ranks: the direct one of the knobs, or across nodes the library's.
[[nodiscard]] CollectiveCost chunk_collective(const FusedView& view, const Knobs& knobs,
                                              Bytes message, const Site& site);

/// Transfers of one chunk that goes as a collective kernel.
[[nodiscard]] std::vector<Transfer> chunk_transfers(const FusedView& view, const ChunkPlan& plan,
                                                    int chunk, const Knobs& knobs,
                                                    const Site& site);

}  // namespace weft::model
