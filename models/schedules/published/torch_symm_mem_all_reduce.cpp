// SPDX-License-Identifier: Apache-2.0
// PyTorch's all-reduces over symmetric memory after the product: one_shot reads every peer's whole partial and adds;
// two_shot reduces its own part and gathers the others'; multimem lets the switch do both.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/whole_schedule.hpp"

namespace weft::model {
namespace {

constexpr std::int64_t most_blocks = 24;  // symm_mem's max_num_blocks of its all-reduce kernels

class TorchSymmMemAllReduce final : public WholeSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "torch.symm_mem_all_reduce",
        .system = "PyTorch",
        .summary = "an all-reduce kernel over symmetric memory after the product",
        .citation =
            "pytorch/pytorch at 006b161: "
            "torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu, "
            "one_shot_all_reduce, two_shot_all_reduce_, multimem_all_reduce_",
        .knobs = {{"kernel",
                   "how partials are added",
                   {"one_shot", "two_shot", "multimem"},
                   "two_shot",
                   "symm_mem.one_shot_all_reduce, two_shot_all_reduce_, multimem_all_reduce_"}},
        .applies_to = "boundaries whose collectives are all-reduces",
        .order = "the product whole, then the all-reduce whole",
        .edges = "stream order; signal pads between the ranks' blocks",
        .resources = "24 CTAs",
        .buffers = "the message in symmetric memory",
        .rules = {"all-reduce only", "ranks are peers over NVLink",
                  "multimem needs a switch that reduces"}};
    return info;
  }

 protected:
  std::optional<CollectiveCost> carry(const BoundaryCollective& collective, const Knobs& knobs,
                                      const Site& site, std::string& why) const override {
    if (collective.op != CollectiveOp::all_reduce) {
      why = fmt::format("these kernels all-reduce, and this is {}", name_of(collective.op));
      return std::nullopt;
    }
    if (!nvlink_domain(site)) {
      why = "symmetric memory needs all ranks to be peers over NVLink";
      return std::nullopt;
    }
    const std::string& kernel = knobs.text("kernel");
    if (kernel == "multimem" && !site.fabric.switch_reduces) {
      why = "multimem needs a switch that reduces and multicasts, and these ranks have none";
      return std::nullopt;
    }
    auto cost = site.prices->direct(problem_of(collective, site),
                                    kernel == "multimem" ? Transport::fabric_switch : Transport::sm,
                                    most_blocks);
    if (!cost) {
      why = "symmetric memory reaches only peers of one node";
      return std::nullopt;
    }
    if (kernel == "one_shot") {
      // One hop instead of two; every peer's whole message comes in and is added as it is read.
      const std::int64_t p = cost->denominator;
      const auto wire = static_cast<std::int64_t>(cost->per_byte.ingress);
      cost->per_byte = {
          .hbm_read = p * p, .hbm_write = p, .egress = p * (p - 1), .ingress = p * (p - 1)};
      cost->rate_cap = Bandwidth::from_bytes_per_second(
          narrow(Int128{cost->rate_cap.bytes_per_second()} * wire / (p * (p - 1))));
      cost->floor -= cost->step_latency;
      cost->steps = 1;
    }
    return cost;
  }

  std::vector<Transfer> moves(const BoundaryCollective& collective, const Knobs& knobs,
                              const Site& site) const override {
    if (knobs.text("kernel") != "one_shot") return WholeSchedule::moves(collective, knobs, site);
    std::vector<Transfer> transfers;
    const Block whole{0, collective.extent.rows, 0, collective.extent.columns};
    for (int from = 0; from < collective.group; ++from) {
      for (int to = 0; to < collective.group; ++to) {
        if (from != to)
          transfers.push_back({Transfer::Kind::reduce, from, to, whole, {from}, 0, 0});
      }
    }
    return transfers;
  }
};

const Registration torch_symm_mem_all_reduce(std::make_unique<TorchSymmMemAllReduce>());

}  // namespace
}  // namespace weft::model
