// SPDX-License-Identifier: Apache-2.0
// NCCL and a GEMM library on one stream, by NCCL's own settings: which algorithm, or its symmetric kernels where
// buffers are registered as symmetric windows, or copy engines where no CTA may be used.
#include <memory>

#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/whole_schedule.hpp"

namespace weft::model {
namespace {

class NcclSerial final : public WholeSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "nccl.serial",
        .system = "NCCL",
        .summary = "library product, then NCCL collective, one after the other on one stream",
        .citation = std::string(nccl_citation),
        .knobs = nccl_knobs(),
        .applies_to = "every boundary that communicates",
        .order = "the collective whole, before what needs it and after what makes it",
        .edges = "stream order",
        .resources = "NCCL's channels, a CTA each; none of them with NCCL_CTA_POLICY zero",
        .buffers = "registered: the collective's message in symmetric windows",
        .rules = {"symmetric kernels and copy engines need registered buffers of one LSA domain",
                  "copy engines do not reduce", "NVLS needs a switch that reduces"}};
    return info;
  }
  Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs, const Site&) const override {
    return nccl_windows(boundary, knobs);
  }
  Knobs normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    return nccl_normalised(boundary, knobs, site);
  }

 protected:
  std::optional<CollectiveCost> carry(const BoundaryCollective& collective, const Knobs& knobs,
                                      const Site& site, std::string& why) const override {
    return nccl_carrier(collective, knobs, site, why);
  }
  void launch(const BoundaryCollective& collective, const Knobs& knobs,
              const std::vector<sim::StreamId>& streams, const std::vector<sim::EventId>& resident,
              LayerProgram& program) const override {
    nccl_launch(collective, knobs, streams, resident, program);
  }
};

const Registration nccl_serial(std::make_unique<NcclSerial>());

}  // namespace
}  // namespace weft::model
