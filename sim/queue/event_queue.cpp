// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/event_queue.hpp"

#include <fmt/format.h>

namespace weft::sim {

PastEventError::PastEventError(TimePoint asked, TimePoint now)
    : std::logic_error(fmt::format("an event was scheduled at {} ps, but it is already {} ps",
                                   asked.ps(), now.ps())) {}

}  // namespace weft::sim
