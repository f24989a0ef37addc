// SPDX-License-Identifier: Apache-2.0
// The GEMM whose rows are handed to their owners and added there, and the addition alone.
#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"
#include "kernels/sm90/scatter_plan.cuh"

namespace weft::kernels {

const void* scatter_kernel(int tile) {
  return kernel_of<Scattering>(tile);
}

Plan plan_gemm_rs(const Product& product, const Scatter& scatter, const Reduce& reduce,
                  const Options& options, const Workspace& workspace) {
  Complaints complaints("sm90_bf16_gemm_rs");
  check_product(product, options, reduce.ctas, complaints);
  check_scatter(product, scatter, complaints);
  const bool epilogue = reduce.adding == Adding::epilogue;
  if (reduce.ctas > 0 || epilogue) check_reduce(product.n, scatter, reduce, false, complaints);
  complaints.require(reduce.ctas == 0 || scatter.landing == Landing::slot,
                     "partials that land by addition are not reduced again");
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_gemm_rs";
  Scattering::Params params =
      scatter_params(product, scatter, reduce.adding, reduce.ctas, options, workspace, *state);
  if (reduce.ctas > 0 || epilogue) receive(product.n, scatter, reduce, params);
  if (epilogue) {
    std::vector<Matrix> results(static_cast<std::size_t>(scatter.ranks));
    results[static_cast<std::size_t>(scatter.rank)] = reduce.out;
    add_in_epilogue(product, scatter, reduce, results, *state, params);
  }
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

Plan plan_reduce(int rows_of_all, int n, const Scatter& scatter, const Reduce& reduce,
                 const Share* share, const Options& options, const Workspace& workspace) {
  Complaints complaints("sm90_bf16_reduce");
  complaints.require(rows_of_all >= 1 && n >= 8 && n % 8 == 0,
                     "there must be rows, and n must be a positive multiple of 8");
  check_group(scatter.rank, scatter.ranks, scatter.chunks_per_shard, complaints);
  check_reduce(n, scatter, reduce, true, complaints);
  complaints.require(reduce.adding == Adding::pass, "a reduction alone is a pass");
  if (share != nullptr) check_share(n, scatter, *share, complaints);
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_reduce";
  state->kernel = reinterpret_cast<const void*>(&communication_kernel<Scattering>);
  state->grid = reduce.ctas;
  state->threads = communication_threads;
  state->shared_bytes = LoadRing<communication_threads>::bytes;
  WEFT_CUDA(cudaFuncSetAttribute(state->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 state->shared_bytes));
  Scattering::Params params{};
  params.core.m = rows_of_all;
  params.core.n = n;
  params.core.communication_ctas = reduce.ctas;
  params.core.coordination = coordination_of(options, workspace);
  params.chunks = Chunks::of({rows_of_all, scatter.ranks, scatter.chunks_per_shard}, scatter.rank);
  params.ranks = scatter.ranks;
  params.rank = scatter.rank;
  receive(n, scatter, reduce, params);
  if (share != nullptr) share_sums(n, scatter, *share, params);
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

}  // namespace weft::kernels
