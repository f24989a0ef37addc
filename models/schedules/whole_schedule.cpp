// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/whole_schedule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/units/check.hpp"

namespace weft::model {

void WholeSchedule::rules(const Boundary&, const Knobs&, const Site&, Rules&) const {}

bool WholeSchedule::runs_on(std::string_view architecture) const {
  return architecture.starts_with("sm_");
}

std::vector<std::string> WholeSchedule::refusals(const Boundary& boundary, const Knobs& knobs,
                                                 const Site& site) const {
  if (!runs_on(site.profile.gpu.architecture)) {
    return {fmt::format("{} has no kernels for {}", info().system, site.profile.gpu.architecture)};
  }
  Rules broken;
  require(broken, site.running() == site.ranks(),
          "its kernels talk to kernels of its peers, and some ranks here are memories only");
  bool any = false;
  for (const BoundaryCollective& collective : boundary.collectives) {
    if (collective.group < 2) continue;
    any = true;
    if (collective.group != site.ranks()) {
      broken.push_back(fmt::format("the collective joins {} ranks and the site has {}",
                                   collective.group, site.ranks()));
      continue;
    }
    std::string why;
    if (!carry(collective, knobs, site, why)) broken.push_back(why);
  }
  require_sms(broken, site, margin(knobs));
  require(broken, any, "nothing is communicated here: there is no peer to talk to");
  if (broken.empty()) rules(boundary, knobs, site, broken);
  return broken;
}

std::vector<Transfer> WholeSchedule::moves(const BoundaryCollective& collective, const Knobs& knobs,
                                           const Site& site) const {
  std::string why;
  return library_transfers(collective, site, carry(collective, knobs, site, why)->algorithm);
}

std::vector<std::vector<Transfer>> WholeSchedule::transfers(const Boundary& boundary,
                                                            const Knobs& knobs,
                                                            const Site& site) const {
  std::vector<std::vector<Transfer>> all;
  for (const BoundaryCollective& collective : boundary.collectives) {
    all.push_back(collective.group < 2 ? std::vector<Transfer>{} : moves(collective, knobs, site));
  }
  return all;
}

Bytes WholeSchedule::buffer_bytes(const Boundary& boundary, const Knobs&, const Site&) const {
  Bytes bytes;
  for (const BoundaryCollective& collective : boundary.collectives) {
    if (collective.group > 1) bytes += collective.message;
  }
  return bytes;
}

void WholeSchedule::expand(const Boundary& boundary, const Knobs& knobs, const Site&,
                           LayerProgram& program) const {
  const bool one_stream = !overlaps(boundary, knobs, program.site());
  Beside how;
  how.one_stream = one_stream;
  how.resident_first = resident_first(knobs);
  how.margin = margin(knobs);
  how.launch = [&](const BoundaryCollective& collective,
                   const std::vector<sim::EventId>& resident) {
    std::vector<sim::StreamId> streams;
    for (int rank = 0; rank < program.ranks(); ++rank)
      streams.push_back(one_stream ? program.compute(rank) : program.communication(rank));
    launch(collective, knobs, streams, resident, program);
  };
  emit_beside(boundary, how, program);
}

void WholeSchedule::launch(const BoundaryCollective& collective, const Knobs& knobs,
                           const std::vector<sim::StreamId>& streams,
                           const std::vector<sim::EventId>& resident, LayerProgram& program) const {
  std::string why;
  const auto cost = carry(collective, knobs, program.site(), why);
  WEFT_CHECK(cost.has_value(), "{}: {}", info().name, why);
  program.collective(*cost, collective.message, collective.name, streams, resident);
}

}  // namespace weft::model
