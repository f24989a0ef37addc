// SPDX-License-Identifier: Apache-2.0
// One persistent product whose CTAs wait for the flags of the chunks that their tiles need, or post the flags of
// the chunks that they finish: one launch for the whole boundary, however many chunks.
//
// Gather:    copy engines (one flag each by stream memory operation) or communication CTAs bring the chunks.
// Reduction: finished chunks leave by copy engine or through a switch that adds; or tiles store themselves at their
//            owners, whose communication CTAs add what has come. Towards peers that run no kernel CTAs carry them.
// Communication CTAs come first in the product's launch, which takes the SMs that the margin leaves; those of a switch
// are launched before it: neither can then wait for the other's place.
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "models/profile/families.hpp"
#include "models/schedules/beside.hpp"
#include "models/schedules/flag_program.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/store_program.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

constexpr int first_shipped = 90;  // kernels/sm90

class DeviceFlag final : public Schedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "device_flag",
        .system = "weft",
        .summary = "one persistent product whose CTAs wait for, or post, a flag for each chunk",
        .citation =
            "kernels/sm90: sm90_bf16_ag_gemm, sm90_bf16_gemm_rs, sm90_bf16_gemm_ar, "
            "sm90_bf16_gemm_a2a",
        .knobs = transport_knobs(),
        .applies_to = "a product that makes or needs what is communicated, in one node",
        .order = "tiles in the order of the chunks",
        .edges = "a device flag a chunk, stream memory operations for copy engines",
        .resources = "one persistent product; copy engines, CTAs or the switch",
        .buffers =
            "the gathered rows, slots of partials, or what the switch or copies of an exchange "
            "read; a flag a chunk",
        .measured_in = std::string(families::flags_peers)};
    return info;
  }

  bool overlaps(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    return chunks_overlap(knobs) || has_independent_work(boundary) ||
           stores_tiles(FusedView(boundary, *fused_pair(boundary)), knobs, site);
  }

  std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                    const Site& site) const override {
    std::vector<std::string> refusals = flag_refusals(boundary, knobs, site);
    const auto pair = fused_pair(boundary);
    if (!pair) return refusals;
    const FusedView view(boundary, *pair);
    for (const DType type : {view.work.x.element, view.work.y.element}) {
      if (type == DType::bf16) continue;
      refusals.push_back(
          fmt::format("the shipped kernels multiply bf16, and this is {}", name_of(type)));
      break;
    }
    return refusals;
  }

  Knobs normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    if (transport_of(knobs) == Transport::copy_engine) return without_sm_knobs(knobs);
    const FusedView view(boundary, *fused_pair(boundary));
    const auto kernel = [&](std::int64_t margin) {
      const GemmCost& cost = site.prices->gemm(
          piece_of(view.work, view.work.rank.m, view.work.rank.n, GemmLibrary::ours),
          site.sms(0, static_cast<int>(margin)));
      return std::tuple(cost.resident, cost.tile_time(), cost.kernel.tile_m, cost.kernel.tile_n,
                        cost.kernel.cluster_m * cost.kernel.cluster_n);
    };
    Knobs result = knobs;
    const bool stores = stores_tiles(view, knobs, site);
    if (stores ? !stores_keep_pace(view, knobs, site) : !pace_binds(knobs, site))
      result.set("pace", "95%");
    // Tiles that are exchanged are added by nobody.
    if (stores && !view.reduces()) result.set("ctas", default_ctas);
    const Knobs unmoved = result;
    for (const KnobSpec& spec : transport_knobs()) {
      if (spec.name != "margin") continue;
      for (const KnobValue& value : spec.values) {
        const std::int64_t margin = std::get<std::int64_t>(value);
        result.set("margin", margin);
        if (margin < knobs.count("margin") && kernel(margin) == kernel(knobs.count("margin")) &&
            refusals(boundary, result, site).empty()) {
          return result;
        }
      }
    }
    return unmoved;
  }

  Duration lower_bound(const Boundary& boundary, const Knobs& knobs,
                       const Site& site) const override {
    const FusedView view(boundary, *fused_pair(boundary));
    return flag_bound(view, knobs, site);
  }

  std::vector<std::vector<Transfer>> transfers(const Boundary& boundary, const Knobs& knobs,
                                               const Site& site) const override {
    const FusedPair pair = *fused_pair(boundary);
    const FusedView view(boundary, pair);
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    std::vector<std::vector<Transfer>> all;
    for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
      if (c != pair.collective) {
        all.push_back(library_transfers(boundary.collectives[c], site));
      } else if (transport_of(knobs) != Transport::fabric_switch) {
        all.push_back(direct_transfers(view, plan));
      } else {
        std::vector<Transfer>& own = all.emplace_back();
        for (int chunk = 0; chunk < plan.size(); ++chunk) {
          const auto part = chunk_transfers(view, plan, chunk, knobs, site);
          own.insert(own.end(), part.begin(), part.end());
        }
      }
    }
    return all;
  }

  Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                     const Site& site) const override {
    const FusedView view(boundary, *fused_pair(boundary));
    // Tiles that are exchanged go to their places in the results.
    const bool in_place = stores_tiles(view, knobs, site) && !view.reduces();
    return in_place ? Bytes() : chunk_buffers(view);
  }

  void expand(const Boundary& boundary, const Knobs& knobs, const Site&,
              LayerProgram& program) const override {
    const FusedPair pair = *fused_pair(boundary);
    program.begin(boundary.name);
    const FusedView view(boundary, pair);
    expand_around(boundary, pair, program, [&] {
      emit_flag_program(view, knobs, boundary.operators[pair.op].name, program);
    });
  }
};

const Registration device_flag_registration(std::make_unique<DeviceFlag>());

}  // namespace

std::vector<std::string> flag_refusals(const Boundary& boundary, const Knobs& knobs,
                                       const Site& site) {
  std::vector<std::string> refusals = fused_refusals(boundary, site, knobs);
  const auto pair = fused_pair(boundary);
  if (!pair) return refusals;
  const FusedView view(boundary, *pair);
  const Transport transport = transport_of(knobs);
  const bool exchanged = view.collective.op == CollectiveOp::all_to_all;
  if (architecture_number(site) < first_shipped) {
    refusals.push_back(fmt::format("the shipped kernels are for sm_{} on, and this is {}",
                                   first_shipped, site.profile.gpu.architecture));
  }
  if (site.group.nodes > 1 && transport == Transport::sm) {
    refusals.push_back(fmt::format(
        "flags and stores reach only peers of one node; the ranks are on {}", site.group.nodes));
  }
  if (transport == Transport::fabric_switch && order_of(knobs) == ChunkOrder::rotated) {
    refusals.push_back("a switch serves all ranks at once: there is nothing to rotate");
  }
  if (exchanged && order_of(knobs) == ChunkOrder::rotated) {
    refusals.push_back(
        "an all-to-all sends a part of every row to everybody: there is nothing to rotate");
  }
  if (!view.gathers && transport != Transport::copy_engine && !exchanged &&
      knobs.count("ctas") > knobs.count("margin")) {
    refusals.push_back(fmt::format(
        "{} communication CTAs wait for tiles of a product that leaves them {} SMs: the "
        "margin must hold them all, or each may wait for the other's place",
        knobs.count("ctas"), knobs.count("margin")));
  }
  return refusals;
}

}  // namespace weft::model
