// SPDX-License-Identifier: Apache-2.0
// The GEMM over a gathered X.
#include <algorithm>

#include "kernels/sm90/mode_gather.cuh"
#include "kernels/sm90/plan.cuh"

namespace weft::kernels {

static_assert(std::all_of(shapes::tiles.begin(), shapes::tiles.end(), [](const shapes::Tile& tile) {
  return FetchSlots::bytes <= tile.shared_bytes();
}));

Plan plan_ag_gemm(const Product& product, const Matrix& out, const Gather& gather,
                  const Options& options, const Workspace& workspace) {
  Complaints complaints("sm90_bf16_ag_gemm");
  check_product(product, options, gather.ctas, complaints);
  check_matrix(out, product.n, "out", complaints);
  check_group(gather.rank, gather.ranks, gather.chunks_per_shard, complaints);
  const auto ranks = static_cast<std::size_t>(gather.ranks);
  if (gather.ctas > 0) {
    complaints.require(gather.ready != nullptr, "communication CTAs need flags to post");
    complaints.require(gather.shards.size() == ranks, "shards must name every rank");
    complaints.require(gather.shard_ready.empty() || gather.shard_ready.size() == ranks,
                       "shard_ready must be empty or name every rank");
  }
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_ag_gemm";
  const shapes::Ownership ownership{product.m, gather.ranks, gather.chunks_per_shard};
  Options in_order = options;
  // Tiles follow the order in which chunks arrive, chunk by chunk.
  if (options.group_rows == 0)
    in_order.group_rows = std::min(shapes::group_rows, ownership.chunk_rows());
  Gathering::Params params{};
  params.core = core_params<Gathering>(product, in_order, workspace, gather.ctas,
                                       ownership.shard(gather.rank).begin, *state);
  params.out = slot_map(out, product.m, product.n, tile_of(*state));
  params.chunks = Chunks::of(ownership, gather.rank);
  params.ready = gather.ready;
  params.width = product.k / 8;
  params.far = gather.far;
  params.gathered = vectors_of({const_cast<void*>(product.x), product.x_stride}, product.k);
  if (gather.ctas > 0) {
    for (std::size_t r = 0; r < ranks; ++r) {
      params.shards[r] =
          vectors_of({const_cast<void*>(gather.shards[r]), product.x_stride}, product.k);
      if (!gather.shard_ready.empty()) params.shard_ready[r] = gather.shard_ready[r];
    }
  }
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

}  // namespace weft::kernels
