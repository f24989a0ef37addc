// SPDX-License-Identifier: Apache-2.0
// The catalogue of schedules. A file registers its schedule with one `Registration` at namespace scope; it is
// linked from an object library, since a static archive would drop it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/schedules/schedule.hpp"

namespace weft::model {

/// Every schedule, by name.
[[nodiscard]] std::vector<const Schedule*> all_schedules();
/// The schedule of a name; null if there is none.
[[nodiscard]] const Schedule* find_schedule(std::string_view name);

/// Adds a schedule to the catalogue; a duplicate name ends the program with both places named.
class Registration {
 public:
  explicit Registration(std::unique_ptr<const Schedule> schedule);
};

}  // namespace weft::model
