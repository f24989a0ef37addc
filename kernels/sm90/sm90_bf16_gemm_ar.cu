// SPDX-License-Identifier: Apache-2.0
// The GEMM whose result is the sum over all ranks, at every rank: in two steps, owners add and
// share, or in one, everybody sends everything to everybody.
#include <limits>

#include "kernels/sm90/scatter_plan.cuh"

namespace weft::kernels {

Plan plan_gemm_ar(const Product& product, const Scatter& scatter, const Reduce& reduce,
                  const Share& share, const Options& options, const Workspace& workspace) {
  Complaints complaints("sm90_bf16_gemm_ar");
  check_product(product, options, reduce.ctas, complaints);
  check_scatter(product, scatter, complaints);
  check_reduce(product.n, scatter, reduce, true, complaints);
  check_share(product.n, scatter, share, complaints);
  complaints.require(scatter.landing == Landing::slot, "gemm_ar lands partials in slots");
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_gemm_ar";
  Scattering::Params params =
      scatter_params(product, scatter, reduce.adding, reduce.ctas, options, workspace, *state);
  receive(product.n, scatter, reduce, params);
  share_sums(product.n, scatter, share, params);
  if (reduce.adding == Adding::epilogue)
    add_in_epilogue(product, scatter, reduce, share.outs, *state, params);
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

Plan plan_gemm_ar(const Product& product, const OneShot& one_shot, const Options& options,
                  const Workspace& workspace) {
  Complaints complaints("sm90_bf16_gemm_ar");
  const auto ranks = static_cast<std::size_t>(one_shot.ranks);
  check_product(product, options, one_shot.ctas, complaints);
  check_group(one_shot.rank, one_shot.ranks, 1, complaints);
  complaints.require(one_shot.ctas > 0, "the one-shot form needs communication CTAs");
  complaints.require(one_shot.slots.size() == ranks && one_shot.landed.size() == ranks &&
                         one_shot.incoming.size() == ranks && one_shot.arrived.size() == ranks,
                     "slots and flags must name every rank");
  for (const Matrix& slot : one_shot.slots) check_matrix(slot, product.n, "a slot", complaints);
  for (const Matrix& slot : one_shot.incoming)
    check_matrix(slot, product.n, "an incoming slot", complaints);
  check_matrix(one_shot.out, product.n, "the sum", complaints);
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_gemm_ar";
  Scattering::Params params{};
  params.core = core_params(product, options, workspace, one_shot.ctas, 0, *state, &scatter_kernel);
  params.chunks = Chunks::of({product.m, 1, 1}, 0);
  params.ranks = one_shot.ranks;
  params.rank = one_shot.rank;
  params.everyone = true;
  params.width = product.n / 8;
  params.sources = one_shot.ranks;
  params.receivers = 1;
  params.adds_from = std::numeric_limits<int>::max();
  params.results[0] = vectors_of(one_shot.out, product.n);
  for (int r = 0; r < one_shot.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    params.outs[r] = slot_map(one_shot.slots[i], product.m, product.n, tile_of(*state));
    params.landed[r] = one_shot.landed[i];
    params.slots[r] = vectors_of(one_shot.incoming[i], product.n);
    params.arrived[r] = one_shot.arrived[i];
  }
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

}  // namespace weft::kernels
