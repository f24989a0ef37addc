// SPDX-License-Identifier: Apache-2.0
// The GEMM whose rows go to the rank that owns them and stay there as they are.
#include "kernels/sm90/scatter_plan.cuh"

namespace weft::kernels {

Plan plan_gemm_a2a(const Product& product, const Scatter& scatter, const Options& options,
                   const Workspace& workspace) {
  Complaints complaints("sm90_bf16_gemm_a2a");
  check_product(product, options, 0, complaints);
  check_scatter(product, scatter, complaints);
  complaints.require(scatter.landing == Landing::slot, "gemm_a2a lands rows in slots");
  complaints.done();

  auto state = std::make_shared<Plan::State>();
  state->name = "sm90_bf16_gemm_a2a";
  const Scattering::Params params =
      scatter_params(product, scatter, Adding::pass, 0, options, workspace, *state);
  state->keep(params, offsetof(CoreParams, coordination));
  return Plan(state);
}

}  // namespace weft::kernels
