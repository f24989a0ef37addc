// SPDX-License-Identifier: Apache-2.0
// Chunks that every rank moves by itself: by its copy engine, or by CTAs in a launch a chunk, and the products
// between them. A collective kernel would need all ranks at once; these need only memory at the other end.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/schedules/chunk_plan.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// Rows of the product that a chunk is: for an all-to-all only the rank's own rows are computed.
[[nodiscard]] std::int64_t product_rows(const FusedView& view, const ChunkPlan& plan, int rank,
                                        int chunk);

/// Launches a chunk's product on the rank's compute stream, with the site's library of products.
void chunk_product(const FusedView& view, const ChunkPlan& plan, int rank, int chunk, int margin,
                   std::string_view label, LayerProgram& program);

/// Appends all chunks to every running rank's streams.
void emit_chunks_by_rank(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs,
                         std::string_view label, LayerProgram& program);

/// Appends a boundary of one product and one collective unfused, in stream order: the collective moved by the knobs'
/// transport, the product whole on all SMs; either may be left out.
void emit_unfused(const Boundary& boundary, const Knobs& knobs, LayerProgram& program,
                  bool computes, bool communicates);

}  // namespace weft::model
