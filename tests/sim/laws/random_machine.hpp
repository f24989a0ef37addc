// SPDX-License-Identifier: Apache-2.0
// The machine of a drawn case: its devices in the order of their ranks, one switch a plane, rails
// from NIC to NIC over a switch of their own, and one host memory.
#pragma once

#include <vector>

#include "tests/sim/laws/random_program.hpp"

namespace weft::sim::laws {

class DrawnMachine {
 public:
  DrawnMachine(const Case& drawn, const Assembly& how, const std::vector<int>& rank_at);

  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// The memory that a logical rank's device has.
  [[nodiscard]] MemoryId memory(int rank) const { return MemoryId(device_of(rank)); }
  [[nodiscard]] MemoryId host() const { return MemoryId(devices_); }
  [[nodiscard]] RouteId route(int rank, const WayCase& way) const;
  /// The route of a message between the NICs of two ranks.
  [[nodiscard]] RouteId rail(int from, int to) const;
  /// A port of a rank's device: out (0) or in (1) of a plane.
  [[nodiscard]] LinkId port(int rank, int plane, int way) const {
    return LinkId(link(device_of(rank), plane, way));
  }

 private:
  [[nodiscard]] Duration time(std::int64_t ps) const {
    return Duration::from_ps(ps * how_.time_scale);
  }
  [[nodiscard]] std::uint32_t device_of(int rank) const {
    return place_[static_cast<std::size_t>(case_.ranks[static_cast<std::size_t>(rank)].device)];
  }
  // Links of a device: out and in of each plane, to and from its NIC, to and from the host.
  [[nodiscard]] std::uint32_t link(std::uint32_t device, int plane, int way) const {
    return device * static_cast<std::uint32_t>(2 * case_.planes + 4) +
           static_cast<std::uint32_t>(2 * plane + way);
  }
  [[nodiscard]] std::uint32_t to_nic(std::uint32_t device, int way) const {
    return link(device, case_.planes, way);
  }
  [[nodiscard]] std::uint32_t to_host(std::uint32_t device, int way) const {
    return link(device, case_.planes + 1, way);
  }
  [[nodiscard]] std::uint32_t wire(std::uint32_t nic, int way) const {
    return link(devices_, 0, 0) + 2 * nic + static_cast<std::uint32_t>(way);
  }
  void make_switches();
  void make_device(const DeviceCase& drawn, std::uint32_t at);
  void make_links(const DeviceCase& drawn, std::uint32_t at);
  void make_rank(const RankCase& drawn);
  void make_routes();
  void add_link(const char* name, std::int64_t rate, LinkEnd from, LinkEnd to);
  [[nodiscard]] std::uint32_t nic_of(std::uint32_t device) const;
  [[nodiscard]] Route planes_route(Route::Kind kind, const std::vector<std::uint32_t>& from,
                                   const std::vector<std::uint32_t>& to) const;
  [[nodiscard]] Route rail_route(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Route host_route(std::uint32_t device, bool from_host) const;

  const Case& case_;
  const Assembly& how_;
  std::uint32_t devices_;
  std::vector<std::uint32_t> place_;  // of each drawn device
  std::vector<int> drawn_at_;         // the drawn device at each place
  Machine machine_;
};

}  // namespace weft::sim::laws
