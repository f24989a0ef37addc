// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's external: the wgrad of proj and fc2 needs the gradient that their dgrad's ring exchange
// gathers, and takes it from there: no collective of its own.
#include <algorithm>
#include <memory>

#include "models/schedules/published/te_ring.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TeExternal final : public WithRing {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "te.external",
        .system = "Transformer Engine",
        .summary = "a wgrad that takes what its dgrad's ring exchange gathered",
        .citation = std::string(te_citation),
        .knobs = te_ring_knobs(),
        .applies_to = "all-gather + dgrad and wgrad of it (proj and fc2 backward)",
        .order = "the dgrad as te.ring_exchange does it, then the wgrad whole",
        .edges = "those of te.ring_exchange; the wgrad follows on the compute stream",
        .resources = "those of te.ring_exchange",
        .buffers = "tp chunks in symmetric memory, kept until the wgrad is done",
        .rules = {"the rules of te.ring_exchange", "a wgrad that needs what the dgrad gathers"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }
  void boundary_rules(const Boundary& boundary, const FusedPair& pair,
                      Rules& broken) const override {
    const bool rides =
        std::any_of(boundary.pairs.begin(), boundary.pairs.end(), [&](const Pairing& each) {
          return each.collective == pair.collective && each.op != pair.op &&
                 each.relation == Relation::consumes &&
                 boundary.operators[each.op].pass == Pass::wgrad;
        });
    require(broken, rides,
            "external is for a wgrad that needs what its dgrad gathers, and there is none here");
  }
};

const Registration te_external(std::make_unique<TeExternal>());

}  // namespace
}  // namespace weft::model
