// SPDX-License-Identifier: Apache-2.0
// A plan: for a scenario, which layout, and for each boundary of it which schedule and knobs, with every figure.
//
// The space is the sum over the boundaries, each searched alone. The layer made of the picks and the all-serial
// layer are then simulated whole, and the faster of the two is the plan's: if the whole contradicts the sum, the
// plan says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/search_path.hpp"
#include "configs/reader/spot.hpp"
#include "models/planner/effective_config.hpp"
#include "models/planner/figures.hpp"
#include "models/planner/scenario.hpp"
#include "models/planner/search.hpp"
#include "models/schedules/site.hpp"
#include "models/workloads/memory.hpp"
#include "models/workloads/workload.hpp"

namespace weft::model {

/// A boundary of the plan: the pick, what it was chosen from, and why.
struct BoundaryPlan {
  Boundary boundary;
  ScheduleChoice pick;
  bool overlaps = false;         ///< whether the pick communicates anything while it computes
  BoundaryFigures figures;       ///< of the pick
  ErrorBand band;                ///< of its D
  std::vector<Candidate> best;   ///< up to ten, best first
  Figures serial;                ///< of the unfused way
  std::string reason;            ///< one sentence
  std::int64_t occurrences = 1;  ///< in the layer
  SearchCount count;
  std::int64_t illegal = 0;
  std::int64_t deadlocks = 0;
  std::optional<Attribution> attribution;  ///< of the best layout's, where asked for
};

/// One kind of layer of the plan.
struct LayerPlan {
  std::string name;
  std::int64_t count = 1;  ///< equal layers in the model
  Figures picks;           ///< the layer of the picks, simulated whole
  Figures serial;          ///< the all-serial layer, simulated whole
  bool picks_win = true;   ///< else the layer is run serially, whatever its boundaries say alone
  Duration sum_of_gains;   ///< what the boundaries gain one by one
  std::vector<std::size_t> boundaries;  ///< into LayoutPlan::boundaries, in program order
  [[nodiscard]] Duration time() const { return picks_win ? picks.overlapped : serial.overlapped; }
};

/// One layout that fits, with all that was found out about it.
struct LayoutPlan {
  ParallelLayout layout;
  RankOrder order = RankOrder::packed;
  std::int64_t nodes = 1;
  MemoryUse memory;
  std::vector<BoundaryPlan> boundaries;
  std::vector<LayerPlan> layers;
  Duration step;         ///< one pass over the model, one replica
  Duration serial_step;  ///< the same, all serial
  double tokens_per_second_per_gpu = 0;
  double mfu = 0;  ///< model FLOPs over the dense peak of every GPU of the replica
  std::shared_ptr<const Site> site;  ///< that its programs run on
  Workload workload;
  std::vector<std::string>
      notes;  ///< where the whole contradicts the sum, races that can be removed, ...
};

/// A layout that cannot be.
struct RefusedLayout {
  ParallelLayout layout;
  RankOrder order = RankOrder::packed;
  std::vector<std::string> reasons;  ///< indivisible heads, or the memory that is short
};

struct Plan {
  Scenario scenario;
  std::string machine_name;
  std::string model_name;           ///< empty for a boundary
  std::vector<LayoutPlan> layouts;  ///< best first by the objective; empty: nothing fits
  std::vector<RefusedLayout> refused;
  SearchCount count;
  ErrorBand band;                          ///< what those of the best layout span, with attention's
  EffectiveConfig config;                  ///< what it was made from
  std::vector<config::ConfigError> notes;  ///< what was assumed or passed over in the model's file
  std::vector<config::SourcedUse>
      assumed;  ///< numbers of the machine and profile that nobody measured
  std::int64_t elapsed_ms = 0;
};

struct PlanOptions {
  SearchOptions search;
  bool explain = false;
};

/// The part of a plan that `weft simulate` draws: the boundary, or the layer that a model has most of.
struct PlanView {
  sim::Machine machine;
  sim::Program program;
  sim::Program compute;  ///< of a layer: that of A
  Figures figures;
  std::optional<Attribution> attribution;  ///< of a boundary, where asked for
  std::string what;                        ///< one line
};
[[nodiscard]] PlanView view_of(const Plan& plan, const LayoutPlan& layout);

/// Plans a boundary or model scenario. Throws config::ConfigErrors where its files are wrong.
[[nodiscard]] Plan make_plan(const Scenario& scenario, const config::SearchPath& search,
                             const PlanOptions& options = {});

}  // namespace weft::model
