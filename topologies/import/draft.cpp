// SPDX-License-Identifier: Apache-2.0
// Every number of the draft goes through one place, which writes what the dump said, what the
// completion says, or null.
#include "topologies/import/draft.hpp"

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/codec.hpp"
#include "configs/reader/sourced.hpp"
#include "sim/units/format.hpp"
#include "topologies/import/roles.hpp"

namespace weft::topology {
namespace {

using config::Value;

/// What one NVLink carries one way, by compute capability (datasheets of P100, V100, A100, RTX 3090,
/// H100 and B200: bandwidth of all links, both ways, over twice their number).
struct NvlinkRate {
  int sm_version;
  std::int64_t bytes_per_second;
  std::string_view of;
};
constexpr NvlinkRate kNvlinkRates[] = {
    {60, 20'000'000'000, "NVLink 1 (P100 datasheet)"},
    {70, 25'000'000'000, "NVLink 2 (V100 datasheet)"},
    {80, 25'000'000'000, "NVLink 3 (A100 datasheet)"},
    {86, 14'062'500'000, "NVLink 3 (RTX A6000 datasheet)"},
    {90, 25'000'000'000, "NVLink 4 (H100 datasheet)"},
    {100, 50'000'000'000, "NVLink 5 (B200 datasheet)"},
    {103, 50'000'000'000, "NVLink 5 (B300 datasheet)"},
};

const NvlinkRate* nvlink_rate(std::optional<int> sm_version) {
  for (const NvlinkRate& rate : kNvlinkRates) {
    if (sm_version == rate.sm_version) return &rate;
  }
  return nullptr;
}

std::string pattern(std::string_view prefix, const std::vector<std::size_t>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i == 1 ? fmt::format("{}", indices[i])
                         : fmt::format("{}-{}", indices[i], indices[end - 1]);
    i = end;
  }
  return indices.size() == 1 ? fmt::format("{}{}", prefix, text)
                             : fmt::format("{}[{}]", prefix, text);
}

std::string range(std::string_view prefix, std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return pattern(prefix, all);
}

class Drafter {
 public:
  Drafter(const Survey& survey, const Completion* completion)
      : survey_(survey), completion_(completion) {}

  MachineDraft draft() {
    Value& machine = draft_.machine;
    machine = Value::object();
    machine.set("schema", "weft.machine/1");
    machine.set("name", fmt::format("{} GPUs, imported from {}", survey_.gpus.size(),
                                    survey_.file.substr(survey_.file.find_last_of('/') + 1)));
    machine.set("profile", text("profile", completion_ ? completion_->spec.profile : ""));
    machine.set("device", text("device (its kind is not in the dump)",
                               completion_ ? completion_->device : ""));
    if (survey_.nodes > 1) machine.set("nodes", survey_.nodes);
    Value node = Value::object();
    node.set("devices", range("gpu", survey_.gpus.size()));
    node.set("hosts", hosts());
    node.set("switches", switches());
    if (!survey_.nics.empty()) node.set("nics", nics());
    links();
    node.set("links", std::move(links_));
    machine.set("node", std::move(node));
    if (survey_.nodes > 1) spine(machine);
    return std::move(draft_);
  }

 private:
  void unknown(std::string what) {
    for (const std::string& each : draft_.unknown) {
      if (each == what) return;
    }
    draft_.unknown.push_back(std::move(what));
  }
  void completed(std::string what) {
    for (const std::string& each : draft_.completed) {
      if (each == what) return;
    }
    draft_.completed.push_back(std::move(what));
  }

  Value text(std::string_view what, const std::string& known) {
    if (!known.empty()) {
      completed(fmt::format("{}: {}", what, known));
      return known;
    }
    unknown(std::string(what));
    return nullptr;
  }

  /// What the dump says, else what the completion says, else null.
  template <class T>
  Value number(const std::string& what, const std::optional<Sourced<T>>& said,
               const Sourced<T>* other) {
    if (said) return config::to_value(*said);
    if (other == nullptr) {
      unknown(what);
      return nullptr;
    }
    completed(fmt::format("{}: {}", what, other->value));
    Sourced<T> taken = *other;
    taken.source.reference = fmt::format("taken from machine {} on request: {}", completion_->name,
                                         taken.source.reference);
    return config::to_value(taken);
  }

  Value hosts() {
    const HostSpec* other = completion_ ? &completion_->spec.node.hosts.front() : nullptr;
    Value host = Value::object();
    host.set("name", range("host", survey_.numa.size()));
    host.set("size",
             number<Bytes>("size of a NUMA node's memory", {}, other ? &other->size : nullptr));
    host.set("bandwidth", number<Bandwidth>("bandwidth of a NUMA node's memory", {},
                                            other ? &other->bandwidth : nullptr));
    return Value::array({std::move(host)});
  }

  Value switches() {
    Value all = Value::array();
    const SwitchSpec* other = completion_ ? fabric_switch(completion_->spec) : nullptr;
    if (survey_.nvlink == NvlinkShape::switched ||
        (survey_.nvlink == NvlinkShape::hidden && other)) {
      Value fabric = Value::object({{"name", "nvswitch"}});
      if (other != nullptr) {
        fabric.set("multicasts", other->multicasts);
        fabric.set("reduces", other->reduces);
        completed(fmt::format("multicast and reduction in the switch: {}", other->multicasts));
      } else {
        fabric.set("multicasts", nullptr);
        fabric.set("reduces", nullptr);
        unknown("whether the NVLink switch multicasts and reduces (NVLS)");
      }
      all.push(std::move(fabric));
    }
    if (!survey_.switches.empty()) {
      all.push(Value::object({{"name", range("pcie", survey_.switches.size())}}));
    }
    all.push(Value::object({{"name", range("root", survey_.numa.size())}}));
    return all;
  }

  Value nics() {
    const NicSpec* other = completion_ && !completion_->spec.node.nics.empty()
                               ? &completion_->spec.node.nics.front()
                               : nullptr;
    Value nic = Value::object();
    nic.set("name", range("nic", survey_.nics.size()));
    std::optional<Sourced<std::int64_t>> pairs;
    if (other != nullptr) {
      pairs = Sourced<std::int64_t>{
          other->queue_pairs,
          {config::SourceKind::assumed,
           fmt::format("taken from machine {} on request", completion_->name)}};
      completed(fmt::format("queue pairs of a NIC: {}", other->queue_pairs));
    } else {
      unknown("queue pairs of a NIC");
    }
    nic.set("queue_pairs", pairs ? config::to_value(*pairs) : Value(nullptr));
    nic.set("message_cost", number<Duration>("cost of a NIC's work request", {},
                                             other ? &other->message_cost : nullptr));
    return Value::array({std::move(nic)});
  }

  void link(std::string from, Value to, LinkRole role, std::string_view what,
            const std::optional<Sourced<Bandwidth>>& said) {
    const LinkSpec* other = completion_ ? link_of_role(completion_->spec, role) : nullptr;
    Value value = Value::object({{"from", std::move(from)}, {"to", std::move(to)}});
    value.set("bandwidth_per_direction",
              number<Bandwidth>(fmt::format("bandwidth of {}", what), said,
                                other ? &other->bandwidth_per_direction : nullptr));
    value.set("latency", number<Duration>(fmt::format("latency of {}", what), {},
                                          other ? &other->latency : nullptr));
    links_.push(std::move(value));
  }

  void links() {
    links_ = Value::array();
    nvlinks();
    if (survey_.pcie_known) {
      std::map<std::tuple<std::string, std::int64_t>, std::vector<std::size_t>> gpus, nics;
      for (std::size_t i = 0; i < survey_.gpus.size(); ++i) group(survey_.gpus[i].pcie, i, gpus);
      for (std::size_t i = 0; i < survey_.nics.size(); ++i) group(survey_.nics[i].pcie, i, nics);
      pcie(gpus, "gpu", LinkRole::device_pcie, "a GPU's PCIe link");
      pcie(nics, "nic", LinkRole::nic_pcie, "a NIC's PCIe link");
      for (std::size_t i = 0; i < survey_.switches.size(); ++i) {
        const PciePlace& place = survey_.switches[i];
        link(fmt::format("pcie{}", i), above(place), LinkRole::uplink, "a PCIe switch's uplink",
             rate(place));
      }
    } else {
      hidden_pcie("gpu", survey_.gpus.size(), LinkRole::device_pcie, "a GPU's PCIe link");
      if (!survey_.nics.empty()) {
        hidden_pcie("nic", survey_.nics.size(), LinkRole::nic_pcie, "a NIC's PCIe link");
      }
    }
    for (std::size_t i = 0; i < survey_.numa.size(); ++i) {
      link(fmt::format("root{}", i), fmt::format("host{}", i), LinkRole::memory,
           "a root to its memory", {});
    }
    if (survey_.numa.size() > 1) {
      const std::string roots = range("root", survey_.numa.size());
      link(roots, roots, LinkRole::socket, "the link between sockets", {});
    }
  }

  static std::string above(const PciePlace& place) {
    return place.under ? fmt::format("pcie{}", *place.under) : fmt::format("root{}", place.root);
  }

  static std::optional<Sourced<Bandwidth>> rate(const PciePlace& place) {
    if (!place.uplink_per_direction) return std::nullopt;
    return Sourced<Bandwidth>{
        *place.uplink_per_direction,
        {config::SourceKind::datasheet, "PCI Express, speed and width of the dump"}};
  }

  static void group(
      const PciePlace& place, std::size_t index,
      std::map<std::tuple<std::string, std::int64_t>, std::vector<std::size_t>>& groups) {
    const std::int64_t known =
        place.uplink_per_direction ? place.uplink_per_direction->bytes_per_second() : 0;
    groups[{above(place), known}].push_back(index);
  }

  void pcie(const std::map<std::tuple<std::string, std::int64_t>, std::vector<std::size_t>>& groups,
            std::string_view prefix, LinkRole role, std::string_view what) {
    for (const auto& [key, members] : groups) {
      const auto& [to, known] = key;
      PciePlace place;
      if (known != 0) place.uplink_per_direction = Bandwidth::from_bytes_per_second(known);
      link(pattern(prefix, members), to, role, what, rate(place));
    }
  }

  void hidden_pcie(std::string_view prefix, std::size_t count, LinkRole role,
                   std::string_view what) {
    Value to = nullptr;
    if (completion_ != nullptr) {
      to = "root0";
      completed(fmt::format("{}: to root0, the tree being hidden", what));
    } else {
      unknown(fmt::format("{}: where it leads", what));
    }
    link(range(prefix, count), std::move(to), role, what, {});
  }

  void nvlinks() {
    if (survey_.nvlink == NvlinkShape::none) return;
    if (survey_.nvlink == NvlinkShape::hidden) return hidden_nvlink();
    if (survey_.nvlink == NvlinkShape::direct) {
      std::map<std::pair<std::size_t, std::int64_t>, std::vector<std::size_t>> to_peers;
      for (const DirectLinks& each : survey_.direct)
        to_peers[{each.a, each.links}].push_back(each.b);
      for (const auto& [from, peers] : to_peers) {
        link(fmt::format("gpu{}", from.first), pattern("gpu", peers), LinkRole::nvlink, "an NVLink",
             nvlink_bandwidth(from.first, from.second));
      }
      return;
    }
    std::map<std::int64_t, std::vector<std::size_t>> by_links;
    for (std::size_t i = 0; i < survey_.gpus.size(); ++i) {
      const std::int64_t links = survey_.gpus[i].fabric_links.value_or(0);
      if (links > 0) by_links[links].push_back(i);
    }
    for (const auto& [links, gpus] : by_links) {
      link(pattern("gpu", gpus), "nvswitch", LinkRole::nvlink, "the NVLinks of a GPU",
           nvlink_bandwidth(gpus.front(), links));
    }
  }

  void hidden_nvlink() {
    const bool switched = completion_ && fabric_switch(completion_->spec) != nullptr;
    const bool linked = completion_ && link_of_role(completion_->spec, LinkRole::nvlink) != nullptr;
    if (completion_ && !linked) {
      completed("NVLink: there is none");
      return;
    }
    const std::string gpus = range("gpu", survey_.gpus.size());
    Value to = nullptr;
    if (switched) to = "nvswitch";
    if (linked && !switched) to = gpus;
    if (!completion_) unknown("whether and how NVLink joins the GPUs");
    link(gpus, std::move(to), LinkRole::nvlink, "the NVLinks of a GPU", {});
  }

  /// The dump counts links; what one carries follows from the generation, which the dump may name.
  std::optional<Sourced<Bandwidth>> nvlink_bandwidth(std::size_t gpu, std::int64_t links) {
    std::optional<int> version = survey_.gpus[gpu].sm_version;
    std::string of = survey_.file;
    if (!version && completion_ != nullptr) {
      const std::string& architecture = completion_->spec.device.architecture;
      for (const NvlinkRate& rate : kNvlinkRates) {
        if (architecture.starts_with(fmt::format("sm_{}", rate.sm_version)))
          version = rate.sm_version;
      }
      of += ", generation of machine " + completion_->name;
    }
    const NvlinkRate* rate = nvlink_rate(version);
    if (rate == nullptr) return std::nullopt;
    return Sourced<Bandwidth>{
        Bandwidth::from_bytes_per_second(links * rate->bytes_per_second),
        {config::SourceKind::datasheet,
         fmt::format("{} links ({}) of {} a direction: {}", links, of,
                     Bandwidth::from_bytes_per_second(rate->bytes_per_second), rate->of)}};
  }

  void spine(Value& machine) {
    if (completion_ == nullptr || completion_->spec.spine.links.empty() ||
        completion_->spec.node.nics.empty()) {
      unknown("the network between the nodes");
      machine.set("spine", nullptr);
      return;
    }
    const LinkSpec& rail = completion_->spec.spine.links.front();
    Value links = Value::array();
    Value value =
        Value::object({{"from", fmt::format("node[*].{}", range("nic", survey_.nics.size()))},
                       {"to", range("rail", survey_.nics.size())},
                       {"pairing", "zip"}});
    std::optional<Sourced<Bandwidth>> port;
    if (survey_.nics.front().port_per_direction) {
      port = Sourced<Bandwidth>{*survey_.nics.front().port_per_direction,
                                {config::SourceKind::datasheet, "port speed of the dump"}};
    }
    value.set("bandwidth_per_direction",
              number("bandwidth of a NIC's port", port, &rail.bandwidth_per_direction));
    value.set("latency", number<Duration>("latency of a NIC's port", {}, &rail.latency));
    links.push(std::move(value));
    machine.set("spine",
                Value::object({{"switches", Value::array({Value::object(
                                                {{"name", range("rail", survey_.nics.size())}})})},
                               {"links", std::move(links)}}));
    completed("the network between the nodes: one switch a rail");
  }

  const Survey& survey_;
  const Completion* completion_;
  MachineDraft draft_;
  Value links_;
};

}  // namespace

MachineDraft draft_machine(const Survey& survey, const Completion* completion) {
  return Drafter(survey, completion).draft();
}

std::string describe(const Survey& survey) {
  std::string text = fmt::format("{}: {} GPUs, {} NICs, {} NUMA node(s)", survey.tool,
                                 survey.gpus.size(), survey.nics.size(), survey.numa.size());
  if (survey.nodes > 1) text += fmt::format(", {} equal nodes", survey.nodes);
  text += '\n';
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) {
    const SurveyGpu& gpu = survey.gpus[i];
    text += fmt::format("  gpu{} is {}", i, gpu.name);
    if (survey.nvlink == NvlinkShape::switched) {
      text += fmt::format(", {} NVLinks to switches", gpu.fabric_links.value_or(0));
    }
    if (survey.nvlink == NvlinkShape::hidden) text += ", NVLink unknown";
    if (survey.nvlink == NvlinkShape::none) text += ", no NVLink";
    for (const DirectLinks& each : survey.direct) {
      if (each.a == i || each.b == i) {
        text += fmt::format(", {} to gpu{}", each.links, each.a == i ? each.b : each.a);
      }
    }
    if (survey.pcie_known) {
      const auto& numa = survey.numa[gpu.pcie.root];
      text += numa ? fmt::format(", NUMA node {}", *numa) : std::string(", NUMA node unknown");
    }
    std::vector<std::string> near;
    for (const std::size_t nic : nearest_nics(survey, i)) {
      near.push_back(fmt::format("nic{} ({})", nic, survey.nics[nic].name));
    }
    if (!near.empty()) text += fmt::format(", nearest {}", fmt::join(near, " "));
    text += '\n';
  }
  return text;
}

}  // namespace weft::topology
