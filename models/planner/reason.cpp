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

// What the schedule's own kernels and transport save without any overlap, where that is a good part of the gain.
std::string not_by_overlap(const Figures& pick, Duration gain) {
  constexpr double worth_saying = 0.1;
  // Beyond this the library and the schedule were hardly measured on the same kind of machine.
  constexpr double beyond_belief = 3;
  const Duration faster =
      pick.serial - pick.schedule_compute_only - pick.schedule_communication_only;
  if (gain <= Duration() || ratio(faster, gain) < worth_saying) return "";
  std::string text =
      fmt::format("; {} of that come from faster kernels and transport, not from overlap",
                  std::min(faster, gain));
  if (pick.schedule_communication_only > Duration() &&
      ratio(pick.communication_only, pick.schedule_communication_only) > beyond_belief) {
    text += fmt::format(
        ": the library's communication takes {} and this {}, so check that ranks reach each other "
        "as the profile says",
        pick.communication_only, pick.schedule_communication_only);
  }
  return text;
}

}  // namespace

std::string reason_for(const BoundarySearch& search, const Figures& pick,
                       const std::optional<BoundaryFigures>& rival) {
  const ScheduleChoice& choice = search.best.front().choice;
  const std::string& name = choice.schedule->info().name;
  if (!search.best.front().overlaps) {
    if (pick.communication_only == Duration()) return "nothing is communicated here";
    std::string text = "do not overlap: ";
    if (name != "serial") {
      text += fmt::format("{} saves {} of {} by its kernels alone; ",
                          name_of_choice(name, choice.knobs), pick.serial - pick.overlapped,
                          pick.serial);
    }
    if (!rival && search.overlapping > 0) {
      return text + fmt::format("each of {} ways to overlap takes longer, by a bound on its time",
                                search.overlapping);
    }
    if (!rival) {
      text += "no schedule that overlaps is legal here";
      if (!search.most_common_refusal.empty())
        text += fmt::format(" ({})", search.most_common_refusal);
      return text;
    }
    const Figures& other = rival->figures;
    const Duration own = other.schedule_compute_only - pick.compute_only;
    const Duration could = std::min(pick.compute_only, pick.communication_only);
    return text + fmt::format(
                      "{} takes {} more than {}; its own kernels lose {} to chunks, waves and "
                      "margin where at most {} could be hidden",
                      name_of_choice(rival->schedule, rival->knobs),
                      share(other.overlapped - pick.overlapped, pick.overlapped), pick.overlapped,
                      share(own, pick.compute_only), share(could, pick.serial));
  }
  const Duration gain = pick.serial - pick.overlapped;
  std::string text =
      fmt::format("overlap: {} saves {} of {} ({})", name_of_choice(name, choice.knobs), gain,
                  pick.serial, share(gain, pick.serial));
  if (const auto hidden = pick.hidden_ratio())
    text += fmt::format(", hiding {:.1f} % of the communication", 100 * *hidden);
  const Duration own = pick.schedule_compute_only - pick.compute_only;
  if (own > Duration())
    text += fmt::format("; its own kernels lose {}", share(own, pick.compute_only));
  text += not_by_overlap(pick, gain);
  if (pick.modes.size() > 1) text += "; it can go more than one way, and this is the worst";
  return text;
}

}  // namespace weft::model
