// SPDX-License-Identifier: Apache-2.0
// What schedules share that fuse one product with one collective: which pair, its geometry, and the rest of the
// boundary (a wgrad beside a reduce-scatter, a second gather), which runs whole beside it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/schedules/algorithm_transfers.hpp"
#include "models/schedules/chunk_plan.hpp"
#include "models/schedules/knobs.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/site.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// A collective and the product that makes or needs its data.
struct FusedPair {
  std::size_t collective = 0;
  std::size_t op = 0;
  bool gathers = false;  ///< the product consumes what arrives; else it produces what is sent
};

/// The pair that a fused schedule cuts: the first product, wgrads last, that data flows to or from.
[[nodiscard]] std::optional<FusedPair> fused_pair(const Boundary& boundary);

/// The boundary's fused product and collective by name.
struct FusedView {
  FusedView(const Boundary& boundary, const FusedPair& pair);
  const BoundaryCollective& collective;
  const MatmulWork& work;
  bool gathers;
  [[nodiscard]] bool reduces() const;
  /// The rows that are cut into chunks: of the whole matrix, or for an all-to-all of a rank's own part.
  [[nodiscard]] ChunkPlan plan(int chunks, ChunkOrder order) const;
  /// The block of the collective's matrix that these rows are.
  [[nodiscard]] Block block(const Piece& piece) const;
  [[nodiscard]] Bytes bytes(const Block& block) const;
  /// The part of `rank`'s chunk that goes from it to `to` in an all-to-all.
  [[nodiscard]] Block exchanged(int rank, RowRange rows, int to) const;
  /// Message bytes of one chunk as a collective of its own.
  [[nodiscard]] Bytes message(const ChunkPlan& plan, int chunk) const;
};

/// Whether the ranks' GPUs reach each other's memory: a profile that was measured without peer access has no costs of
/// copies between peers. Ranks of one GPU, and one beside host memory, need none.
[[nodiscard]] bool reach_peers(const Site& site);
/// The rule where they do not.
inline constexpr const char* no_peer_access =
    "its copies go straight to peers' memory, and these GPUs have no peer access: what they "
    "exchange goes through host "
    "memory, by NCCL alone";

/// Rules that both fused schedules state: a pair to fuse, ranks to talk to, no more chunks than rows, and the
/// transport's own needs.
[[nodiscard]] std::vector<std::string> fused_refusals(const Boundary& boundary, const Site& site,
                                                      const Knobs& knobs);

/// What a rank holds of a boundary that is cut beside its operands and result: the gathered rows, a slot of each rank's
/// partials or the output that a switch adds from, or the rows that wait for their exchange.
[[nodiscard]] Bytes chunk_buffers(const FusedView& view);

/// Transfers of a plan whose blocks go straight from holder to owner (gather: from owner to all), chunk by chunk.
[[nodiscard]] std::vector<Transfer> direct_transfers(const FusedView& view, const ChunkPlan& plan);

/// Transfers of a collective that runs whole, as the library makes them with this algorithm.
[[nodiscard]] std::vector<Transfer> library_transfers(const BoundaryCollective& collective,
                                                      const Site& site,
                                                      CollectiveAlgorithm algorithm);
/// The same with the library's own choice.
[[nodiscard]] std::vector<Transfer> library_transfers(const BoundaryCollective& collective,
                                                      const Site& site);

/// The problem that a collective of the boundary poses to the cost models.
[[nodiscard]] CollectiveProblem problem_of(const BoundaryCollective& collective, const Site& site);

/// The bound of a two-stage pipeline whose stages each go one chunk at a time: for a gather
/// max(m_1 + sum c, sum m + c_n), for a reduction max(sum c + m_n, c_1 + sum m), and `tail` after either.
[[nodiscard]] Duration pipeline_bound(const std::vector<Duration>& computes,
                                      const std::vector<Duration>& moves, bool gathers,
                                      Duration tail);

/// The least time that a copy engine takes for what one rank moves of a chunk, and that a product's tiles take.
[[nodiscard]] Duration copies_bound(const FusedView& view, const std::vector<Piece>& pieces,
                                    int rank, const Site& site);
[[nodiscard]] Duration tiles_bound(const GemmCost& cost, const Site& site);

/// Runs what is not fused, on both streams of every rank, around the fused part.
void expand_around(const Boundary& boundary, const FusedPair& pair, LayerProgram& program,
                   const std::function<void()>& fused);

}  // namespace weft::model
