// SPDX-License-Identifier: Apache-2.0
#include "models/planner/reason.hpp"

#include <fmt/format.h>

#include "sim/units/format.hpp"

namespace weft::model {
namespace {

std::string share(Duration part, Duration whole) {
  return whole == Duration() ? "0 %" : fmt::format("{:.1f} %", 100 * ratio(part, whole));
}

// "chunked with 8 chunks by copy_engine"
std::string name_of_choice(const std::string& schedule, const Knobs& knobs) {
  std::string text = schedule;
  if (knobs.has("chunks")) {
    const std::int64_t chunks = knobs.count("chunks");
    text += fmt::format(" with {} chunk{}", chunks, chunks == 1 ? "" : "s");
  }
  if (knobs.has("transport")) text += fmt::format(" by {}", knobs.text("transport"));
  return text;
}

}  // namespace

std::string reason_for(const BoundarySearch& search, const Figures& pick,
                       const std::optional<BoundaryFigures>& rival) {
  const ScheduleChoice& choice = search.best.front().choice;
  if (choice.schedule->info().name == "serial") {
    if (pick.communication_only == Duration()) return "nothing is communicated here";
    if (!rival) {
      return search.most_common_refusal.empty()
                 ? "do not overlap: no other schedule is legal here"
                 : fmt::format("do not overlap: no other schedule is legal here ({})",
                               search.most_common_refusal);
    }
    const Figures& other = rival->figures;
    const Duration own = other.schedule_compute_only - pick.compute_only;
    const Duration could = std::min(pick.compute_only, pick.communication_only);
    return fmt::format(
        "do not overlap: {} takes {} more than {}; its own kernels lose {} to chunks, waves and "
        "margin "
        "where at most {} could be hidden",
        name_of_choice(rival->schedule, rival->knobs),
        share(other.overlapped - pick.serial, pick.serial), pick.serial,
        share(own, pick.compute_only), share(could, pick.serial));
  }
  const Duration gain = pick.serial - pick.overlapped;
  std::string text = fmt::format("overlap: {} saves {} of {} ({})",
                                 name_of_choice(choice.schedule->info().name, choice.knobs), gain,
                                 pick.serial, share(gain, pick.serial));
  if (const auto hidden = pick.hidden_ratio())
    text += fmt::format(", hiding {:.1f} % of the communication", 100 * *hidden);
  const Duration own = pick.schedule_compute_only - pick.compute_only;
  if (own > Duration())
    text += fmt::format("; its own kernels lose {}", share(own, pick.compute_only));
  if (pick.modes.size() > 1) text += "; it can go more than one way, and this is the worst";
  return text;
}

}  // namespace weft::model
