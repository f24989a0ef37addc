// SPDX-License-Identifier: Apache-2.0
// How NCCL carries one whole collective under its own settings, for the schedules that leave it whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/schedules/knobs.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/site.hpp"
#include "models/schedules/whole_schedule.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

inline constexpr std::string_view nccl_citation =
    "NVIDIA/nccl at 5067397 (2.30.7): src/graph/tuning.cc, src/sym_kernels.cc, src/ce_coll.cc; "
    "NCCL_ALGO, NCCL_CTA_POLICY and window registration in the NCCL user guide";

/// NCCL_ALGO, registered and NCCL_CTA_POLICY.
[[nodiscard]] std::vector<KnobSpec> nccl_knobs();

/// The collective under these knobs; none where NCCL would not take it so, with the rule in `why`.
[[nodiscard]] std::optional<CollectiveCost> nccl_carrier(const BoundaryCollective& collective,
                                                         const Knobs& knobs, const Site& site,
                                                         std::string& why);

/// NCCL's symmetric kernel for the collective as its own model prices it; none where it has none.
[[nodiscard]] std::optional<CollectiveCost> nccl_symmetric(const BoundaryCollective& collective,
                                                           const Site& site);

/// A schedule whose collectives go whole by NCCL, under `nccl_knobs`.
class NcclWhole : public WholeSchedule {
 public:
  /// Bytes that are registered as symmetric windows.
  [[nodiscard]] Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                                   const Site& site) const override;
  /// Knobs with an algorithm that NCCL takes anyway set to auto.
  [[nodiscard]] Knobs normalised(const Boundary& boundary, const Knobs& knobs,
                                 const Site& site) const override;

 protected:
  [[nodiscard]] std::optional<CollectiveCost> carry(const BoundaryCollective& collective,
                                                    const Knobs& knobs, const Site& site,
                                                    std::string& why) const override;
  [[nodiscard]] std::vector<Transfer> moves(const BoundaryCollective& collective,
                                            const Knobs& knobs, const Site& site) const override;
  void launch(const BoundaryCollective& collective, const Knobs& knobs,
              const std::vector<sim::StreamId>& streams, const std::vector<sim::EventId>& resident,
              LayerProgram& program) const override;
};

/// The rules that every schedule under these knobs has, in words.
[[nodiscard]] std::vector<std::string> nccl_rules();

/// 90 for "sm_90"; 0 for what is no NVIDIA GPU.
[[nodiscard]] int architecture_number(const Site& site);

/// Whether the ranks are peers over NVLink: one node, links faster than a PCI Express slot.
[[nodiscard]] bool nvlink_domain(const Site& site);

}  // namespace weft::model
