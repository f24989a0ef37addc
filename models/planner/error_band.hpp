// SPDX-License-Identifier: Apache-2.0
// How far predictions may be off: which of a profile's errors a plan's times belong to.
#pragma once

#include "models/planner/figures.hpp"
#include "models/planner/search.hpp"
#include "models/profile/profile.hpp"
#include "models/schedules/site.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// Of one boundary's pick: the family that its schedule was measured in with the site's library; of one that was not,
/// and whose parts overlap, the widest of those that were. Without overlap, the wider of the library's products and
/// the library's collectives. The source is `assumed` where the pick is unlike what was measured, and says how: more
/// ranks, several nodes, another type, a schedule of another system. Not known where the profile was not tested.
[[nodiscard]] ErrorBand band_of(const Boundary& boundary, const ScheduleChoice& pick,
                                const Site& site);

/// Of a whole plan: the widest of its picks, and of attention where a model's layers have it.
[[nodiscard]] ErrorBand widest(const std::vector<ErrorBand>& bands);
[[nodiscard]] ErrorBand attention_band(const Profile& profile);

}  // namespace weft::model
