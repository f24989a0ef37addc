// SPDX-License-Identifier: Apache-2.0
// A device whose clusters fit anywhere: what it is worth to know where its SMs are.
#pragma once

#include <numeric>
#include <type_traits>

#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// Puts all SMs of a machine's device in one GPC.
inline void one_gpc(model::Profile& profile, topology::MachineSpec& machine) {
  const auto join = [](auto& sizes) {
    const auto all = std::accumulate(sizes.begin(), sizes.end(),
                                     typename std::decay_t<decltype(sizes)>::value_type{});
    sizes = {all};
  };
  if (profile.gpu.sms_per_gpc) join(profile.gpu.sms_per_gpc->value);
  join(machine.device.sms_per_gpc.value);
}

}  // namespace weft::calibration
