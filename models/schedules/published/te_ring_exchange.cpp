// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's ring_exchange: the default of qkv and fc1 forward, and of the dgrads of proj and fc2.
#include <memory>

#include "models/schedules/published/te_ring.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class TeRingExchange final : public WithRing {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "te.ring_exchange",
        .system = "Transformer Engine",
        .summary =
            "a product for each rank's tokens while chunks go round a ring or to their owners",
        .citation = std::string(te_citation),
        .knobs = te_ring_knobs(),
        .applies_to = "all-gather + product; product + reduce-scatter",
        .order =
            "tp chunks of tokens/tp; a gather starts with its own and takes those of the ranks "
            "before it; a reduction ends with its own",
        .edges =
            "stream events between three compute streams, a sending and a receiving one; "
            "arrival is a signal that a one-warp kernel spins on",
        .resources =
            "copy engines (use_ce) or num_sm CTAs; products on all SMs unless set_sm_margin",
        .buffers = "tp chunks (all-gather) or 2 tp - 1 (reduce-scatter) in symmetric memory",
        .rules = {"sequence parallelism", "tensor parallelism inside the NVLink domain",
                  "tokens divide by tp", "aggregate: all-gather only, even tp"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override {
    return {CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
  }
};

const Registration te_ring_exchange(std::make_unique<TeRingExchange>());

}  // namespace
}  // namespace weft::model
