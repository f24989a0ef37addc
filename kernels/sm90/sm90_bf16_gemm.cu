// SPDX-License-Identifier: Apache-2.0
// The plain GEMM.
#include "kernels/sm90/mode_plain.cuh"
#include "kernels/sm90/plan.cuh"

namespace weft::kernels {

Plan plan_gemm(const Product& product, const Matrix& out, const Options& options,
               const Workspace& workspace) {
  Complaints complaints("sm90_bf16_gemm");
  check_product(product, options, 0, complaints);
  check_matrix(out, product.n, "out", complaints);
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_gemm";
  Plain::Params params{};
  params.core = core_params<Plain>(product, options, workspace, 0, 0, *state);
  params.out = slot_map(out, product.m, product.n, tile_of(*state));
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

}  // namespace weft::kernels
