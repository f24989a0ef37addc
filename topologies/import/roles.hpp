// SPDX-License-Identifier: Apache-2.0
// The links of a machine by what they do, so that a number can be found in another machine whose
// parts have other names.
#pragma once

#include <cstdint>
#include <string>

#include "topologies/machine_spec.hpp"

namespace weft::topology {

enum class LinkRole : std::uint8_t {
  nvlink,       ///< device to a switch that leads to no host, or to another device
  device_pcie,  ///< device to a PCIe switch or root
  nic_pcie,     ///< NIC to a PCIe switch or root
  uplink,       ///< PCIe switch to the next one or to a root
  memory,       ///< root to a host memory
  socket,       ///< root to root
};

/// Returns the first link of a role, or nullptr.
[[nodiscard]] const LinkSpec* link_of_role(const MachineSpec& spec, LinkRole role);

/// Returns the switch that joins the devices without leading to a host, or nullptr.
[[nodiscard]] const SwitchSpec* fabric_switch(const MachineSpec& spec);

}  // namespace weft::topology
