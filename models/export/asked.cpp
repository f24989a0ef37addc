// SPDX-License-Identifier: Apache-2.0
#include "models/export/asked.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/error.hpp"
#include "models/export/te_choice.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

std::string words_of(const ScheduleChoice& choice) {
  const std::string knobs = choice.knobs.to_text();
  const std::string& name = choice.schedule->info().name;
  return knobs.empty() ? name : fmt::format("{} {}", name, knobs);
}

class AsAsked {
 public:
  AsAsked(const Plan& plan, const TpOverlap& overlap)
      : layout_(plan.layouts.front()),
        overlap_(overlap),
        effects_(sim::effects_of(plan.scenario.fidelity)) {
    asked_.file = overlap.file;
    asked_.layout = to_text(layout_.layout);
    asked_.serial_step = layout_.serial_step;
    asked_.planned_step = layout_.step;
  }

  AskedPlan run() {
    for (std::size_t i = 0; i < layout_.layers.size(); ++i) {
      const Layer& layer = layout_.workload.layers[i];
      const LayerPlan& planned = layout_.layers[i];
      std::vector<ScheduleChoice> choices;
      const std::vector<const Boundary*> boundaries = boundaries_of(layer);
      for (std::size_t b = 0; b < boundaries.size(); ++b) {
        choices.push_back(
            choice(*boundaries[b], layout_.boundaries[planned.boundaries[b]], planned.picks_win));
      }
      const Figures figures = evaluate(layer, choices, *layout_.site, effects_);
      asked_.step += figures.overlapped * planned.count;
    }
    return std::move(asked_);
  }

 private:
  const UbGemm* told(std::string_view product) const {
    for (const UbGemm& gemm : overlap_.gemms) {
      if (gemm.name == product) return &gemm;
    }
    return nullptr;
  }

  /// Each name of a boundary is decided, and run alone, once.
  const ScheduleChoice& choice(const Boundary& boundary, const BoundaryPlan& planned,
                               bool picks_win) {
    const auto known = choices_.find(boundary.name);
    if (known != choices_.end()) return known->second;
    AskedBoundary& row = asked_.boundaries.emplace_back();
    row.boundary = boundary.name;
    ScheduleChoice decided = decide(boundary, row);
    row.serial = planned.serial.overlapped;
    row.time = row.serial;
    if (decided.schedule->info().name != "serial") {
      try {
        row.time = overlapped_only(boundary, decided, *layout_.site, effects_).overlapped;
      } catch (const sim::DeadlockError& hang) {
        row.refusal = fmt::format("it would hang: {}", hang.what());
        decided = unfused();
      }
    }
    row.pick = picks_win ? words_of(planned.pick) : "serial";
    row.picked = picks_win ? planned.figures.figures.overlapped : row.serial;
    return choices_.emplace(boundary.name, std::move(decided)).first->second;
  }

  static ScheduleChoice unfused() {
    const Schedule* serial = find_schedule("serial");
    return {serial, Knobs(serial->info().knobs)};
  }

  ScheduleChoice decide(const Boundary& boundary, AskedBoundary& row) {
    row.asked = "serial";
    const std::vector<std::string> products = ub_products(boundary.name);
    if (products.empty()) return unfused();
    row.product = products.front();
    const UbGemm* gemm = told(row.product);
    row.line = gemm == nullptr ? 0 : gemm->line;
    UbChoice wanted = choice_of(gemm == nullptr ? ub_default(row.product) : *gemm);
    if (products.size() == 2) ride(boundary, products[1], wanted);
    row.asked = words_of(wanted.choice);
    if (!wanted.idle.empty()) {
      asked_.notes.push_back(fmt::format("{}: {} of {} changes nothing in what is simulated",
                                         boundary.name, fmt::join(wanted.idle, ", "), row.product));
    }
    const std::vector<std::string> refusals =
        wanted.choice.schedule->refusals(boundary, wanted.choice.knobs, *layout_.site);
    if (refusals.empty()) return wanted.choice;
    row.refusal = refusals.front();
    return unfused();
  }

  /// The wgrad of a backward boundary: rides on its dgrad's ring exchange, or shares its bulk settings.
  void ride(const Boundary& boundary, const std::string& wgrad, UbChoice& wanted) {
    const std::string& name = wanted.choice.schedule->info().name;
    if (name == "te.ring_exchange" && ub_site(wgrad)->may_be_external) {
      const Schedule* external = find_schedule("te.external");
      if (external->refusals(boundary, wanted.choice.knobs, *layout_.site).empty())
        wanted.choice.schedule = external;
      return;
    }
    const UbGemm* gemm = told(wgrad);
    if (name != "te.bulk" || gemm == nullptr) return;
    const UbChoice other = choice_of(*gemm);
    if (other.choice.schedule == wanted.choice.schedule &&
        !(other.choice.knobs == wanted.choice.knobs)) {
      asked_.notes.push_back(fmt::format(
          "{}: {} asks for {}; both collectives run with the dgrad's settings, {}", boundary.name,
          wgrad, other.choice.knobs.to_text(), wanted.choice.knobs.to_text()));
    }
  }

  const LayoutPlan& layout_;
  const TpOverlap& overlap_;
  sim::Effects effects_;
  AskedPlan asked_;
  std::map<std::string, ScheduleChoice, std::less<>> choices_;
};

}  // namespace

AskedPlan run_as_asked(const Plan& plan, const TpOverlap& overlap) {
  if (plan.layouts.empty() || plan.layouts.front().layers.empty()) {
    throw config::ConfigErrors(config::ConfigError{
        plan.scenario.file, 0, 0, "",
        plan.layouts.empty() ? "nothing fits, so nothing runs as asked"
                             : "a boundary alone is none of Transformer Engine's products by name",
        plan.layouts.empty() ? "weft plan says what is short" : "a scenario of a model has them"});
  }
  return AsAsked(plan, overlap).run();
}

std::vector<PreflightFinding> preflight(const AskedPlan& asked) {
  std::vector<PreflightFinding> findings;
  for (const AskedBoundary& each : asked.boundaries) {
    if (!each.refusal.empty()) {
      findings.push_back(
          {"overlap-refused", asked.file, each.line,
           fmt::format("{} cannot run as {}: {}", each.product, each.asked, each.refusal),
           fmt::format("it runs unfused, in {}", each.serial)});
    } else if (each.time > each.serial) {
      findings.push_back({"overlap-loses", asked.file, each.line,
                          fmt::format("{} as {} takes {}, unfused {}", each.product, each.asked,
                                      each.time, each.serial),
                          fmt::format("{} each time it runs; {} takes {}", each.time - each.serial,
                                      each.pick, each.picked)});
    }
  }
  return findings;
}

}  // namespace weft::model
