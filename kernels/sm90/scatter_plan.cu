// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"
#include "kernels/sm90/scatter_plan.cuh"

namespace weft::kernels {

void check_scatter(const Product& product, const Scatter& scatter, Complaints& complaints) {
  check_group(scatter.rank, scatter.ranks, scatter.chunks_per_shard, complaints);
  const auto ranks = static_cast<std::size_t>(scatter.ranks);
  complaints.require(scatter.slots.size() == ranks, "slots must name every owner");
  complaints.require(scatter.landed.size() == ranks, "landed must name every owner");
  for (std::size_t r = 0; r < scatter.slots.size(); ++r) {
    const shapes::Ownership ownership{product.m, scatter.ranks, scatter.chunks_per_shard};
    if (r < ranks && ownership.shard(static_cast<int>(r)).count() > 0)
      check_matrix(scatter.slots[r], product.n, "the slot at owner " + std::to_string(r),
                   complaints);
  }
}

void check_reduce(int n, const Scatter& scatter, const Reduce& reduce, bool needed,
                  Complaints& complaints) {
  const auto ranks = static_cast<std::size_t>(scatter.ranks);
  const bool epilogue = reduce.adding == Adding::epilogue;
  complaints.require(!needed || epilogue || reduce.ctas > 0,
                     "the reduction needs communication CTAs");
  complaints.require(!epilogue || reduce.ctas == 0,
                     "sums in the epilogue leave nothing to communication CTAs");
  complaints.require(!epilogue || !scatter.owners_in_turns,
                     "sums in the epilogue need the own rows last: owners cannot take turns");
  complaints.require(!epilogue || scatter.landing == Landing::slot,
                     "sums in the epilogue need partials in slots");
  complaints.require(reduce.slots.size() == ranks, "the reduction's slots must name every source");
  complaints.require(reduce.landed.size() == ranks, "the reduction's flags must name every source");
  for (std::size_t r = 0; r < reduce.slots.size(); ++r)
    check_matrix(reduce.slots[r], n, "the slot of source " + std::to_string(r), complaints);
  for (const Signal* flags : reduce.landed)
    complaints.require(flags != nullptr, "the reduction's flags must be set");
  check_matrix(reduce.out, n, "the sum", complaints);
}

void check_share(int n, const Scatter& scatter, const Share& share, Complaints& complaints) {
  const auto ranks = static_cast<std::size_t>(scatter.ranks);
  complaints.require(
      share.outs.size() == ranks && share.posted.size() == ranks && share.arrived.size() == ranks,
      "results and their flags must name every rank");
  for (std::size_t r = 0; r < share.outs.size(); ++r)
    check_matrix(share.outs[r], n, "the result at rank " + std::to_string(r), complaints);
}

Scattering::Params scatter_params(const Product& product, const Scatter& scatter, Adding adding,
                                  int communication_ctas, const Options& options,
                                  const Workspace& workspace, Plan::State& state) {
  const shapes::Ownership ownership{product.m, scatter.ranks, scatter.chunks_per_shard};
  const int next = (scatter.rank + 1) % scatter.ranks;
  Options in_order = options;
  // A chunk is complete, and goes, before the tiles of the next one begin.
  if (options.group_rows == 0)
    in_order.group_rows = std::min(shapes::group_rows, ownership.chunk_rows());
  Scattering::Params params{};
  params.core =
      core_params(product, in_order, workspace, communication_ctas, next * ownership.shard_rows(),
                  state, &scatter_kernel, adding == Adding::epilogue ? &ownership : nullptr);
  const shapes::Tile& tile = tile_of(state);
  params.core.coordination.bytes_in_flight =
      shapes::ceil_div(static_cast<int>(options.pace.bytes_in_flight_per_cta), tile.warpgroups);
  TileOrder& order = params.core.order;
  const int group_rows = order.group * tile.m() * tile.cluster_m;
  if (scatter.owners_in_turns && order.rows % order.group == 0 &&
      product.m == order.rows / order.group * group_rows &&
      product.m % (scatter.ranks * group_rows) == 0) {
    order.owners = scatter.ranks;
    order.owner_groups = ownership.shard_rows() / group_rows;
  }
  params.chunks = Chunks::of(ownership, scatter.rank);
  params.ranks = scatter.ranks;
  params.rank = scatter.rank;
  params.adds = scatter.landing == Landing::reduce_add;
  params.receivers = 1;
  params.adds_from = std::numeric_limits<int>::max();
  for (int r = 0; r < scatter.ranks; ++r) {
    const int rows = ownership.shard(r).count();
    if (rows == 0) continue;
    const auto i = static_cast<std::size_t>(r);
    params.outs[r] = slot_map(scatter.slots[i], rows, product.n, tile);
    params.targets[r] = vectors_of(scatter.slots[i], product.n);
    params.landed[r] = scatter.landed[i];
  }
  return params;
}

void receive(int n, const Scatter& scatter, const Reduce& reduce, Scattering::Params& params) {
  params.width = n / 8;
  params.sources = scatter.ranks;
  params.receivers = 1;
  for (int r = 0; r < scatter.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    params.slots[r] = vectors_of(reduce.slots[i], n);
    params.arrived[r] = reduce.landed[i];
  }
  params.results[0] = vectors_of(reduce.out, n);
}

void add_in_epilogue(const Product& product, const Scatter& scatter, const Reduce& reduce,
                     const std::vector<Matrix>& results, Plan::State& state,
                     Scattering::Params& params) {
  const shapes::Ownership ownership{product.m, scatter.ranks, scatter.chunks_per_shard};
  const int rows = ownership.shard(scatter.rank).count();
  const auto ranks = static_cast<std::size_t>(scatter.ranks);
  std::vector<CUtensorMap> maps(2 * ranks);
  const auto map_of = [&](const Matrix& matrix) {
    return slot_map(matrix, rows, product.n, tile_of(state));
  };
  for (std::size_t r = 0; rows > 0 && r < ranks; ++r) {
    if (static_cast<int>(r) != scatter.rank) maps[r] = map_of(reduce.slots[r]);
    if (results[r].data != nullptr) maps[ranks + r] = map_of(results[r]);
  }
  const std::size_t bytes = maps.size() * sizeof(CUtensorMap);
  auto* memory = static_cast<CUtensorMap*>(keep_memory(bytes, state));
  WEFT_CUDA(cudaMemcpy(memory, maps.data(), bytes, cudaMemcpyHostToDevice));
  params.meeting = memory;
  const TileOrder& order = params.core.order;
  if (rows > 0)
    params.adds_from = (scatter.ranks - 1) * order.owner_tiles * order.columns * order.parts;
}

void share_sums(int n, const Scatter& scatter, const Share& share, Scattering::Params& params) {
  params.receivers = scatter.ranks;
  for (int r = 0; r < scatter.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    params.results[r] = vectors_of(share.outs[i], n);
    params.posted[r] = r == scatter.rank ? nullptr : share.posted[i];
    params.gathered[r] = share.arrived[i];
  }
}

}  // namespace weft::kernels
