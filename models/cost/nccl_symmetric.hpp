// SPDX-License-Identifier: Apache-2.0
// NCCL's own price of its symmetric-memory kernels: the model by which it chooses kernel and CTA count, in its own
// numbers, so that its choices can be predicted and its estimates judged.
//
//   time = base latency + softplus(bus bytes / bandwidth - 1 us)
//   bandwidth = softmin(CTAs * bandwidth of a CTA * multiplier, peak), soft over the bandwidth of a CTA
//   CTAs: the fewest that come within 2.5 % of the most; kernel: the least time * (1 + 2.5 % a CTA)
//
// Source: NVIDIA/nccl at 5067397 (2.30.7), src/sym_kernels.cc, queryModel_lsa and ncclSymkPickKernel; its GB is
// 2^30 bytes. TMA kernels, which this model ties with the plain ones, are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/units/collective.hpp"

namespace weft::model {

enum class NcclGeneration : std::uint8_t { hopper, blackwell };

/// A symmetric kernel: flags in the data (LL), loads and stores of peers, or the switch (MC).
enum class NcclSymmetricKernel : std::uint8_t {
  all_reduce_ll,
  all_reduce_llmc,
  all_reduce_peers,
  all_reduce_switch,
  all_gather_ll,
  all_gather_llmc,
  all_gather_peers,
  all_gather_switch,
  reduce_scatter_ll,
  reduce_scatter_peers,
  reduce_scatter_switch,
};
[[nodiscard]] std::string_view name_of(NcclSymmetricKernel kernel);
[[nodiscard]] CollectiveOp op_of(NcclSymmetricKernel kernel);
[[nodiscard]] bool uses_switch(NcclSymmetricKernel kernel);

struct NcclSymmetricEstimate {
  NcclSymmetricKernel kernel = NcclSymmetricKernel::all_reduce_peers;
  int ctas = 0;
  double time_us = 0;
  double bytes_per_us = 0;  ///< bus bytes a microsecond at that CTA count
  double bus_bytes = 0;
};

/// Most CTAs of a symmetric kernel (ncclSymkMaxBlocks).
inline constexpr int nccl_symmetric_ctas = 64;

/// One kernel's estimate. `bytes`: of one rank's buffer as NCCL counts it: the shard of an all-gather or
/// reduce-scatter, the whole of an all-reduce.
[[nodiscard]] NcclSymmetricEstimate nccl_symmetric_estimate(NcclGeneration generation,
                                                            NcclSymmetricKernel kernel, int ranks,
                                                            std::int64_t bytes);

/// The kernel that NCCL picks; none for an operation that has no symmetric kernel.
[[nodiscard]] std::optional<NcclSymmetricEstimate> nccl_symmetric_pick(NcclGeneration generation,
                                                                       CollectiveOp op, int ranks,
                                                                       std::int64_t bytes,
                                                                       bool switch_reduces);

}  // namespace weft::model
