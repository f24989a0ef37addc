// SPDX-License-Identifier: Apache-2.0
// NCCL and a GEMM library on one stream, by NCCL's own settings: which algorithm, or its symmetric kernels where
// buffers are registered as symmetric windows, or copy engines where no CTA may be used.
#include <memory>

#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class NcclSerial final : public NcclWhole {
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
        .rules = nccl_rules(),
        .measured_in = std::string(unfused_rows)};
    return info;
  }
};

const Registration nccl_serial(std::make_unique<NcclSerial>());

}  // namespace
}  // namespace weft::model
