// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's bulk overlap: one whole all-gather or reduce-scatter beside a product that does not need it,
// as the dgrad of qkv and fc1 beside the all-gather of x, and the wgrad beside the reduce-scatter of dx.
//
// The collective must be resident first: a persistent product that comes before it holds every SM until it ends.
// With launch_completion_event (Hopper, CUDA 12.3) the product waits until the collective's CTAs are resident;
// without it order is left to CUDA_DEVICE_MAX_CONNECTIONS.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/published/te_rules.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/whole_schedule.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

class TeBulk final : public WholeSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "te.bulk",
        .system = "Transformer Engine",
        .summary = "a whole all-gather or reduce-scatter beside a product that does not need it",
        .citation = std::string(te_citation) + "; NVIDIA/TransformerEngine pull request 1308",
        .knobs = {te_num_sm("CTAs of the collective",
                            {int64_t{2}, int64_t{8}, int64_t{16}, int64_t{32}}),
                  te_cga_size(),
                  {"set_sm_margin",
                   "1: products leave num_sm SMs free",
                   {int64_t{1}, int64_t{0}},
                   int64_t{1},
                   "set_sm_margin"},
                  {"launch_completion_event",
                   "1: the product starts once the collective's CTAs are resident",
                   {int64_t{1}, int64_t{0}},
                   int64_t{1},
                   "cudaLaunchAttributeLaunchCompletionEvent"}},
        .applies_to =
            "boundaries with a product that neither makes nor needs what a collective moves",
        .order = "one product and one collective, both whole",
        .edges = "launch completion of the collective before the product, else stream order",
        .resources = "num_sm CTAs, through the switch where it reduces",
        .buffers = "the collective's message in symmetric memory",
        .rules = {"sequence parallelism", "independent work in the boundary",
                  "tensor parallelism inside the NVLink domain",
                  "launch completion needs Hopper or later"}};
    return info;
  }

 protected:
  bool overlaps(const Boundary&, const Knobs&, const Site&) const override { return true; }
  bool resident_first(const Knobs& knobs) const override {
    return knobs.count("launch_completion_event") == 1;
  }
  int margin(const Knobs& knobs) const override {
    return knobs.count("set_sm_margin") == 1 ? static_cast<int>(knobs.count("num_sm")) : 0;
  }
  void rules(const Boundary& boundary, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    require(
        broken, has_independent_work(boundary),
        "bulk overlaps a product with a collective that is unrelated to it, and here each makes or "
        "needs what is communicated");
    require(broken, nvlink_domain(site),
            "userbuffers are peers of one NVLink domain: tensor parallelism must lie inside it");
    te_ctas(knobs, site, false, broken);
    const std::string& architecture = site.profile.gpu.architecture;
    require(broken, knobs.count("launch_completion_event") == 0 || architecture_number(site) >= 90,
            fmt::format("a launch completion event needs Hopper or later, and this is {}",
                        architecture));
  }
  std::optional<CollectiveCost> carry(const BoundaryCollective& collective, const Knobs& knobs,
                                      const Site& site, std::string& why) const override {
    if (collective.op != CollectiveOp::all_gather &&
        collective.op != CollectiveOp::reduce_scatter) {
      why = fmt::format(
          "bulk moves an all-gather or a reduce-scatter of sequence parallelism, not {}",
          name_of(collective.op));
      return std::nullopt;
    }
    if (!nvlink_domain(site)) {
      why = "userbuffers are peers of one NVLink domain: tensor parallelism must lie inside it";
      return std::nullopt;
    }
    auto cost =
        site.prices->direct(problem_of(collective, site),
                            site.fabric.switch_reduces ? Transport::fabric_switch : Transport::sm,
                            knobs.count("num_sm"));
    if (!cost)
      why = "userbuffers reach only peers of one node: tensor parallelism must lie inside it";
    return cost;
  }
  void launch(const BoundaryCollective& collective, const Knobs& knobs,
              const std::vector<sim::StreamId>& streams, const std::vector<sim::EventId>& resident,
              LayerProgram& program) const override {
    std::string why;
    const auto cost = carry(collective, knobs, program.site(), why);
    WEFT_CHECK(cost.has_value(), "te.bulk: {}", why);
    program.collective(*cost, collective.message, collective.name, streams, resident,
                       te_cluster(knobs, program.site(), cost->ctas));
  }
};

const Registration te_bulk(std::make_unique<TeBulk>());

}  // namespace
}  // namespace weft::model
