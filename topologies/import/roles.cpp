// SPDX-License-Identifier: Apache-2.0
#include "topologies/import/roles.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weft::topology {
namespace {

/// Which parts of a node are what; roots are the switches that join a host memory.
class Parts {
 public:
  explicit Parts(const MachineSpec& spec) : spec_(spec) {
    insert(devices_, spec.node.devices);
    for (const HostSpec& host : spec.node.hosts) insert(hosts_, host.name);
    for (const NicSpec& nic : spec.node.nics) insert(nics_, nic.name);
    for (const SwitchSpec& each : spec.node.switches) insert(switches_, each.name);
    for (const auto& [link, pair] : pairs()) {
      if (hosts_.contains(pair.first)) roots_.insert(pair.second);
      if (hosts_.contains(pair.second)) roots_.insert(pair.first);
    }
    to_host_ = roots_;
    for (bool grew = true; grew;) {
      grew = false;
      for (const auto& [link, pair] : pairs()) {
        for (const auto& [a, b] : {pair, std::pair(pair.second, pair.first)}) {
          if (to_host_.contains(a) && switches_.contains(b)) grew |= to_host_.insert(b).second;
        }
      }
    }
  }

  std::vector<std::pair<const LinkSpec*, std::pair<std::string, std::string>>> pairs() const {
    std::vector<std::pair<const LinkSpec*, std::pair<std::string, std::string>>> all;
    for (const LinkSpec& link : spec_.node.links) {
      for (auto& pair : expand_pairs(link, 1)) all.emplace_back(&link, std::move(pair));
    }
    return all;
  }

  bool fabric(const std::string& name) const {
    return switches_.contains(name) && !to_host_.contains(name);
  }

  std::optional<LinkRole> role(const std::string& a, const std::string& b) const {
    if (devices_.contains(a) && (devices_.contains(b) || fabric(b))) return LinkRole::nvlink;
    if (devices_.contains(a) && to_host_.contains(b)) return LinkRole::device_pcie;
    if (nics_.contains(a) && to_host_.contains(b)) return LinkRole::nic_pcie;
    if (roots_.contains(a) && hosts_.contains(b)) return LinkRole::memory;
    if (roots_.contains(a) && roots_.contains(b)) return LinkRole::socket;
    if (to_host_.contains(a) && to_host_.contains(b)) return LinkRole::uplink;
    return std::nullopt;
  }

 private:
  void insert(std::set<std::string>& names, const std::string& pattern) {
    for (std::string& name : expand_pattern(pattern, 1)) names.insert(std::move(name));
  }

  const MachineSpec& spec_;
  std::set<std::string> devices_, hosts_, nics_, switches_, roots_, to_host_;
};

}  // namespace

const LinkSpec* link_of_role(const MachineSpec& spec, LinkRole role) {
  const Parts parts(spec);
  for (const auto& [link, pair] : parts.pairs()) {
    if (parts.role(pair.first, pair.second) == role) return link;
    if (parts.role(pair.second, pair.first) == role) return link;
  }
  return nullptr;
}

const SwitchSpec* fabric_switch(const MachineSpec& spec) {
  const Parts parts(spec);
  for (const SwitchSpec& each : spec.node.switches) {
    if (parts.fabric(expand_pattern(each.name, 1).front())) return &each;
  }
  return nullptr;
}

}  // namespace weft::topology
