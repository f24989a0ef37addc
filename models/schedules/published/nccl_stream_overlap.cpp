// SPDX-License-Identifier: Apache-2.0
// NCCL on a stream of its own beside work that does not need it: what data parallelism does with gradients, and a
// framework with the collective of one product beside another product.
#include <memory>

#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

std::vector<std::string> with_independent_work(std::vector<std::string> rules) {
  rules.insert(rules.begin(), "independent work in the boundary");
  return rules;
}

class NcclStreamOverlap final : public NcclWhole {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "nccl.stream_overlap",
        .system = "NCCL",
        .summary = "an NCCL collective on its own stream beside work that does not need it",
        .citation = std::string(nccl_citation),
        .knobs = nccl_knobs(),
        .applies_to = "boundaries with work that neither makes nor needs what a collective moves",
        .order = "operators as they come; a collective as soon as what it sends is there",
        .edges = "stream events",
        .resources =
            "NCCL's channels beside the product: whichever is resident first keeps its SMs",
        .buffers = "registered: the collective's message in symmetric windows",
        .rules = with_independent_work(nccl_rules())};
    return info;
  }

 protected:
  bool overlaps(const Boundary&, const Knobs&, const Site&) const override { return true; }
  void rules(const Boundary& boundary, const Knobs&, const Site&, Rules& broken) const override {
    require(
        broken, has_independent_work(boundary),
        "a second stream overlaps only independent work, and everything here makes or needs what "
        "is communicated");
  }
};

const Registration nccl_stream_overlap(std::make_unique<NcclStreamOverlap>());

}  // namespace
}  // namespace weft::model
