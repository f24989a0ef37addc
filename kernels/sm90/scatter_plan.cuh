// SPDX-License-Identifier: Apache-2.0
// The steps that gemm_rs, gemm_ar and gemm_a2a share: they are one kernel with different receivers.
#pragma once

#include "kernels/sm90/mode_scatter.cuh"
#include "kernels/sm90/plan.cuh"

namespace weft::kernels {

/// Returns the scattering kernel for entry `tile` of the table.
const void* scatter_kernel(int tile);

/// Checks the sending side.
void check_scatter(const Product& product, const Scatter& scatter, Complaints& complaints);
/// Checks the receiving side; `needed` says that it must have communication CTAs.
void check_reduce(int n, const Scatter& scatter, const Reduce& reduce, bool needed,
                  Complaints& complaints);
/// Checks the gathering side.
void check_share(int n, const Scatter& scatter, const Share& share, Complaints& complaints);

/// Fills in core and sending side, for sums that are added as `adding` says; chooses tile and grid.
Scattering::Params scatter_params(const Product& product, const Scatter& scatter, Adding adding,
                                  int communication_ctas, const Options& options,
                                  const Workspace& workspace, Plan::State& state);
/// Fills in the receiving side.
void receive(int n, const Scatter& scatter, const Reduce& reduce, Scattering::Params& params);
/// Has the tiles of own rows add, once receiving and gathering side are filled in: `results` by receiver, where
/// the sums of the own rows go.
void add_in_epilogue(const Product& product, const Scatter& scatter, const Reduce& reduce,
                     const std::vector<Matrix>& results, Plan::State& state,
                     Scattering::Params& params);
/// Fills in the gathering side.
void share_sums(int n, const Scatter& scatter, const Share& share, Scattering::Params& params);

}  // namespace weft::kernels
