// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/pk_rules.hpp"

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

Duration pk_move_time(const Site& site, Bytes bytes) {
  return bytes / site.profile.sm_copy(CopyPath::to_peer).per_cta.value;
}

}  // namespace weft::model
