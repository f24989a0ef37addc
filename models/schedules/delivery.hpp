// SPDX-License-Identifier: Apache-2.0
// The laws that every schedule's transfers keep, proved on index sets.
//
// Each rank receives each element that it needs exactly once; each rank's addend enters each reduction exactly
// once; nobody sends what it does not hold at that step; a sum is passed on as final only when it is complete.
#pragma once

#include <string>
#include <vector>

#include "models/schedules/transfer.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// What is wrong with these transfers as an execution of the collective, each broken law with the ranks and the
/// block; empty if they deliver. At most 20 faults are listed.
[[nodiscard]] std::vector<std::string> delivery_faults(const BoundaryCollective& collective,
                                                       const std::vector<Transfer>& transfers);

/// Bytes through the port of one rank.
struct PortBytes {
  Bytes egress;
  Bytes ingress;
  friend bool operator==(const PortBytes&, const PortBytes&) = default;
};

/// Bytes through each rank's port. What a switch multicasts leaves its source once, and enters the source too; what
/// it reduces enters its target once, and leaves the target too: (p+1)/p of an all-reduce each way.
[[nodiscard]] std::vector<PortBytes> port_bytes(const BoundaryCollective& collective,
                                                const std::vector<Transfer>& transfers);

/// The least that any algorithm without help from the network must receive at one rank: what the rank needs and
/// does not hold. For a reduction: one complete partial of what it keeps.
[[nodiscard]] Bytes cut_bound(const BoundaryCollective& collective, int rank);

}  // namespace weft::model
