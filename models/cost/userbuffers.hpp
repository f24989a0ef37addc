// SPDX-License-Identifier: Apache-2.0
// What grids and clusters the kernels of Transformer Engine's UserBuffers are launched with.
//
//   cluster = cga_size where it divides the grid, else 1; before sm_90 always 1
//
// It checks neither itself: a grid beyond its flags (NVTE_MAX_SMS) writes past them, and a cluster that is larger than
// CUDA's portable size is refused at the launch, as its kernels do not allow others. A size need be no power of two.
//
// Source: NVIDIA/TransformerEngine, common/comm_gemm_overlap/userbuffers/userbuffers.{h,cu} (SETUP_LAUNCH_CONFIG);
// CUDA C++ Programming Guide, "Thread Block Clusters": at most 8 are portable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::model {

inline constexpr std::int64_t ub_most_sms = 32;  ///< NVTE_MAX_SMS; a pipeline's last part takes all
inline constexpr std::int64_t ub_most_cluster = 8;

/// The CTAs of a grid that start together in one GPC; the architecture as 90 for sm_90.
[[nodiscard]] int ub_cluster(std::int64_t ctas, std::int64_t cga_size, int architecture);

/// What is wrong with a product's num_sm and cga_size; empty if its kernels start.
[[nodiscard]] std::vector<std::string> ub_grid_faults(std::int64_t num_sm, std::int64_t cga_size,
                                                      bool pipeline, int architecture);

}  // namespace weft::model
