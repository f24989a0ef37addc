// SPDX-License-Identifier: Apache-2.0
// Whose numbers price a library's collectives: a profile's own constants, or those by which NCCL itself thinks. What a
// model says nothing of stays as the profile has it.
//
//   nccl_tuner:     time = latency + bytes / bandwidth of its tuner for each algorithm and protocol that the library
//                   has; what a byte asks of ports and memory stays that of the algorithm
//   nccl_symmetric: its model of symmetric kernels, inside an NVLink domain
//   flashoverlap:   prices are the profile's; FlashOverlap's grouping is its own predictor's, as its search ends with
//
// Source of what NCCL's topology search finds: NVIDIA/nccl at 5067397 (2.30.7), src/graph/topo.h: 20.0, 20.6 and 40.1
// GB/s of an NVLink of Ampere, Hopper and Blackwell, 12 of PCI Express 3.0 x16. How it rounds them to channels is left
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"

namespace weft::model {

enum class CostModel : std::uint8_t { profile, nccl_tuner, nccl_symmetric, flashoverlap };

inline constexpr CostModel every_cost_model[] = {
    CostModel::profile, CostModel::nccl_tuner, CostModel::nccl_symmetric, CostModel::flashoverlap};
[[nodiscard]] std::string_view name_of(CostModel model);
/// What it prices, in a few words.
[[nodiscard]] std::string_view meaning_of(CostModel model);

/// 90 for "sm_90"; 0 for what is no NVIDIA GPU.
[[nodiscard]] int nvidia_architecture(const Profile& profile);
/// Whether links of this fabric are NVLink: faster than any PCI Express slot.
[[nodiscard]] bool joined_by_nvlink(const Fabric& fabric);

/// The library's ways for this message under a model, by ascending floor; those of the profile where it has none.
[[nodiscard]] std::vector<CollectiveCost> modelled_collectives(CostModel model,
                                                               const Profile& profile,
                                                               const Fabric& fabric,
                                                               const CollectiveProblem& problem,
                                                               Bytes message);

/// NCCL's symmetric kernel for the message as its own model prices it, no faster than the port of this fabric; none
/// where it has none.
[[nodiscard]] std::optional<CollectiveCost> symmetric_collective(const Profile& profile,
                                                                 const Fabric& fabric,
                                                                 const CollectiveProblem& problem,
                                                                 Bytes message);

}  // namespace weft::model
