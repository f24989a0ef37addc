// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/pk_rules.hpp"

#include <utility>

#include <fmt/format.h>

#include "models/schedules/published/nccl_carrier.hpp"

namespace weft::model {

void pk_rules(const FusedView& view, const Site& site, int margin, Rules& broken) {
  require(broken, view.collective.group == 8 && site.group.nodes == 1,
          fmt::format(
              "the kernels are compiled for NUM_DEVICES = 8 of one node, and these are {} on {}",
              view.collective.group, site.group.nodes));
  require(broken, site.fabric.switch_reduces,
          "the kernels address a switch that multicasts and reduces, and these ranks have none");
  require(broken, architecture_number(site) == 90,
          fmt::format("the kernels are for Hopper (sm_90a), and this is {}",
                      site.profile.gpu.architecture));
  if (!broken.empty()) return;
  const GemmTile tile = flagged_cost(view, site, margin).kernel;
  require(broken,
          rows_of_owner(view, 0).rows() % tile.tile_m == 0 &&
              view.collective.extent.rows % view.collective.group == 0,
          fmt::format("rows of a rank must be whole tiles of {}: M divides by tile x ranks",
                      tile.tile_m));
}

KnobSpec PkSwitchKernel::comm_sms(std::string meaning, std::vector<KnobValue> counts,
                                  std::int64_t usual) {
  return {"num_comm_sms", std::move(meaning), std::move(counts), usual, "num_comm_sms"};
}

int PkSwitchKernel::senders(const Knobs& knobs) {
  return static_cast<int>(knobs.count("num_comm_sms"));
}

void PkSwitchKernel::rules(const FusedView& view, const Knobs& knobs, const Site& site,
                           Rules& broken) const {
  pk_rules(view, site, senders(knobs), broken);
}

std::vector<Transfer> PkSwitchKernel::moves(const FusedView& view, const Knobs&,
                                            const Site& site) const {
  return part_transfers(view, site, CollectiveAlgorithm::nvls, {0, view.collective.extent.columns},
                        0);
}

Duration PkSwitchKernel::compute_bound(const FusedView& view, const Knobs& knobs,
                                       const Site& site) const {
  return flagged_work(view, site, senders(knobs));
}

sim::KernelWriter PkSwitchKernel::begin(GraphWriter& graph, std::string_view label,
                                        const GemmCost& cost, int senders) {
  LayerProgram& program = graph.program();
  sim::KernelWriter kernel =
      program.builder().kernel(label, static_cast<int>(cost.resident) + senders);
  kernel.footprint(cost.footprint).prologue(program.beyond_launch(cost.start));
  return kernel;
}

void PkSwitchKernel::multiply(GraphWriter& graph, int rank, const GemmCost& cost,
                              const std::vector<ProductPart>& parts, sim::KernelWriter& kernel) {
  constexpr int waiting_issue_milli = 10;  // one polling thread: a hundredth of an SM
  kernel.role(sim::Purpose::compute, sim::TileOrder::static_shares, static_cast<int>(cost.resident))
      .spin(waiting_issue_milli);
  write_parts(graph, rank, cost, parts, kernel);
}

Duration pk_move_time(const Site& site, Bytes bytes) {
  return bytes / site.profile.sm_copy(CopyPath::to_peer).per_cta.value;
}

}  // namespace weft::model
