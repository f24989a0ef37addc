// SPDX-License-Identifier: Apache-2.0
// How far predictions may be off: which of a profile's errors a plan's times belong to, and in what they are unlike
// the rows that these are of.
#pragma once

#include <string>
#include <vector>

#include "models/planner/evaluate.hpp"
#include "models/planner/figures.hpp"
#include "models/planner/scenario.hpp"
#include "models/profile/profile.hpp"
#include "models/schedules/site.hpp"
#include "models/workloads/boundary.hpp"
#include "models/workloads/spec.hpp"

namespace weft::model {

/// Of one boundary's pick: that of the family which its schedule was measured in with the site's library. Of another
/// schedule, and where the profile has no such family, what its parts' families span: the library's products and
/// collectives, and of what overlaps those schedules that were measured. `unlike`: in what the scenario is unlike any
/// run. The source is `assumed` where anything is, and says what. Not known where the profile was not tested.
[[nodiscard]] ErrorBand band_of(const Boundary& boundary, const ScheduleChoice& pick,
                                const Site& site, std::vector<std::string> unlike = {});

/// In what a scenario is unlike a run: another cost model, effects that are left out, parts that are overridden.
[[nodiscard]] std::vector<std::string> unlike_a_run(const Scenario& scenario);

/// Of what a layer has outside its boundaries: products by the library, and attention in a phase.
[[nodiscard]] ErrorBand layer_band(const Profile& profile, Phase phase, DType type,
                                   std::vector<std::string> unlike = {});

/// What all of these span: assumed where one is, or is not known.
[[nodiscard]] ErrorBand span_of(const std::vector<ErrorBand>& bands);

}  // namespace weft::model
