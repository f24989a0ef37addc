// SPDX-License-Identifier: Apache-2.0
// The XML of NCCL (src/graph/xml.cc of NCCL 2.30): system > cpu (a NUMA node) > pci > ... > pci >
// gpu or nic. A dump lists every NVLink of a GPU; a file written by hand may leave them out, since
// NCCL adds them when it runs, so there their absence says nothing.
#include "topologies/import/nccl_xml.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "configs/reader/foreign_text.hpp"
#include "sim/units/quote.hpp"

namespace weft::topology {
namespace {

using config::Findings;
using pugi::xml_node;

constexpr std::size_t kMostXmlNodes = 1 << 16;
constexpr std::size_t kNcclXmlNodes = 256;  // MAX_NODES of NCCL's src/graph/xml.h
constexpr std::size_t kMostGpus = 1024;
constexpr int kDeepestPci = 64;

/// XML of other tools, by its root element.
struct OtherRoot {
  std::string_view element;
  std::string_view what;
};
constexpr OtherRoot kOtherRoots[] = {
    {"algo", "an MSCCL algorithm: a schedule of sends, no topology"},
    {"topology", "hwloc's XML (lstopo): NUMA and PCI without NVLink"},
    {"graphs", "NCCL's graph file (NCCL_GRAPH_DUMP_FILE): the rings and trees it chose"},
    {"nvidia_smi_log", "the log of `nvidia-smi -q -x`"},
};

std::string_view attribute(const xml_node& node, const char* name) {
  return config::trimmed(node.attribute(name).as_string());
}

enum class PciKind { bridge, gpu, nic, nvswitch, other };

/// What a PCI device is by its class code, or where that is absent by what is in it.
PciKind kind_of(const xml_node& pci) {
  std::string_view code = attribute(pci, "class");
  if (code.starts_with("0x")) code.remove_prefix(2);
  if (pci.child("gpu") || code.starts_with("0302") || code.starts_with("0300")) return PciKind::gpu;
  if (pci.child("nic") || code.starts_with("0207") || code.starts_with("0200")) return PciKind::nic;
  if (code.starts_with("0680")) return PciKind::nvswitch;
  if (code.starts_with("0604") || pci.child("pci")) return PciKind::bridge;
  return PciKind::other;
}

/// One host of the file.
class HostSurveyor {
 public:
  HostSurveyor(std::string_view text, bool dump, Findings& findings)
      : text_(text), dump_(dump), findings_(findings) {}

  std::uint32_t line_of(const xml_node& node) const {
    const auto offset = std::min<std::size_t>(
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)), text_.size());
    return static_cast<std::uint32_t>(
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  }

  void add_cpu(const xml_node& cpu) {
    const auto numa = config::whole_number(attribute(cpu, "numaid"));
    const std::size_t root = survey_.numa.size();
    survey_.numa.emplace_back();
    if (numa && *numa >= 0) {
      survey_.numa.back() = *numa;
    } else {
      findings_.note(line_of(cpu), fmt::format("numaid {} names no NUMA node: unknown",
                                               in_quotes(attribute(cpu, "numaid"))));
    }
    for (const xml_node& child : cpu.children()) {
      const std::string_view name = child.name();
      if (name == "pci") {
        add_pci(child, {.under = {}, .root = root, .uplink_per_direction = {}}, 0);
      } else if (name == "nic") {
        for (const xml_node& net : child.children("net")) {
          findings_.note(line_of(net), fmt::format("net {} is on no PCI device and is ignored",
                                                   in_quotes(attribute(net, "name"))));
        }
      } else if (child.type() == pugi::node_element) {
        ignored(child);
      }
    }
  }

  Survey finish() {
    find_nvlink();
    return std::move(survey_);
  }

 private:
  void ignored(const xml_node& node) {
    findings_.note(line_of(node),
                   fmt::format("<{}> is ignored", std::string(node.name()).substr(0, 40)));
  }

  /// Raw rate of a PCIe link: transfers a second times lanes, a bit each.
  std::optional<Bandwidth> rate_of(const xml_node& pci) {
    const std::string_view speed = attribute(pci, "link_speed");
    const std::string_view width = attribute(pci, "link_width");
    const auto gigatransfers = config::real_number(speed.substr(0, speed.find(' ')));
    const auto lanes = config::whole_number(width);
    if (!gigatransfers || !lanes || *lanes <= 0 || *lanes > 32 || *gigatransfers <= 0 ||
        *gigatransfers > 256) {
      return std::nullopt;
    }
    if (*gigatransfers < 3) {
      findings_.note(line_of(pci),
                     fmt::format("{} at {} is an idle or a virtual link: its rate is unknown",
                                 in_quotes(attribute(pci, "busid")), in_quotes(speed)));
      return std::nullopt;
    }
    return Bandwidth::from_bytes_per_second(std::llround(*gigatransfers * 1e9 / 8) * *lanes);
  }

  void add_pci(const xml_node& pci, PciePlace place, int depth) {
    if (depth > kDeepestPci) {
      findings_.error(line_of(pci), "PCI devices are nested too deep");
      return;
    }
    const std::string busid(attribute(pci, "busid"));
    if (!busid.empty() && !busids_.insert(busid).second) {
      findings_.error(line_of(pci), fmt::format("two devices have bus id {}", in_quotes(busid)));
      return;
    }
    place.uplink_per_direction = rate_of(pci);
    switch (kind_of(pci)) {
      case PciKind::gpu:
        return add_gpus(pci, place, busid);
      case PciKind::nic:
        return add_nics(pci, place, busid);
      case PciKind::bridge: {
        const std::size_t own = survey_.switches.size();
        survey_.switches.push_back(place);
        for (const xml_node& child : pci.children()) {
          if (std::string_view(child.name()) == "pci") {
            add_pci(child, {.under = own, .root = place.root, .uplink_per_direction = {}},
                    depth + 1);
          }
        }
        return;
      }
      case PciKind::nvswitch:
        return;
      case PciKind::other:
        findings_.note(line_of(pci),
                       fmt::format("PCI device {} with class {} is neither GPU, NIC nor bridge: "
                                   "ignored",
                                   in_quotes(busid), in_quotes(attribute(pci, "class"))));
    }
  }

  void add_gpus(const xml_node& pci, const PciePlace& place, const std::string& busid) {
    const auto gpus = pci.children("gpu");
    const auto count = std::distance(gpus.begin(), gpus.end());
    if (count == 0) add_gpu(pci, {}, place, busid);
    if (count > 1) {
      findings_.note(line_of(pci), fmt::format("{} GPUs share PCI device {}: each is taken as a "
                                               "GPU of its own",
                                               count, in_quotes(busid)));
    }
    for (const xml_node& gpu : gpus) add_gpu(pci, gpu, place, busid);
  }

  void add_gpu(const xml_node& pci, const xml_node& gpu, const PciePlace& place,
               const std::string& busid) {
    const auto sm = config::whole_number(attribute(gpu, "sm"));
    const std::size_t index = survey_.gpus.size();
    survey_.gpus.push_back({.name = busid.empty() ? fmt::format("GPU {}", index) : busid,
                            .pcie = place,
                            .line = line_of(pci),
                            .sm_version = {},
                            .fabric_links = {}});
    if (sm && *sm >= 30 && *sm < 1000) survey_.gpus.back().sm_version = static_cast<int>(*sm);
    by_busid_.emplace(busid, index);
    for (const xml_node& child : gpu.children()) {
      if (std::string_view(child.name()) == "nvlink") {
        add_nvlink(child, index);
      } else if (child.type() == pugi::node_element) {
        ignored(child);
      }
    }
  }

  void add_nvlink(const xml_node& nvlink, std::size_t gpu) {
    const auto count = config::whole_number(attribute(nvlink, "count"));
    if (!count || *count < 1 || *count > 72) {
      findings_.error(line_of(nvlink), fmt::format("{} is no number of NVLinks",
                                                   in_quotes(attribute(nvlink, "count"))));
      return;
    }
    const std::string target(attribute(nvlink, "target"));
    const std::string_view code = attribute(nvlink, "tclass");
    const bool hidden = target.starts_with("fffffff");
    if (code == "0x068000" || code == "0x068001" || hidden) {
      survey_.gpus[gpu].fabric_links = survey_.gpus[gpu].fabric_links.value_or(0) + *count;
      if (hidden && code != "0x068000") {
        findings_.note(line_of(nvlink), "the far end of this NVLink is hidden: taken as a switch");
      }
    } else {
      to_gpus_.push_back({gpu, target, *count, line_of(nvlink)});
    }
  }

  void add_nics(const xml_node& pci, const PciePlace& place, const std::string& busid) {
    std::size_t nets = 0;
    for (const xml_node& nic : pci.children("nic")) {
      for (const xml_node& net : nic.children("net")) {
        ++nets;
        const auto megabits = config::whole_number(attribute(net, "speed"));
        const std::string name(attribute(net, "name"));
        survey_.nics.push_back(
            {.name = name.empty() ? busid : name, .pcie = place, .port_per_direction = {}});
        if (megabits && *megabits > 0 && *megabits <= 10'000'000) {
          survey_.nics.back().port_per_direction =
              Bandwidth::from_bytes_per_second(*megabits * 125'000);
        }
      }
    }
    if (nets == 0) {
      survey_.nics.push_back({.name = busid, .pcie = place, .port_per_direction = {}});
    }
  }

  void find_nvlink() {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> pairs;
    for (const ToGpu& link : to_gpus_) {
      const auto peer = by_busid_.find(link.target);
      if (peer == by_busid_.end()) {
        findings_.note(link.line, fmt::format("the far end of this NVLink, {}, is not in the file: "
                                              "ignored",
                                              in_quotes(link.target)));
      } else if (peer->second == link.gpu) {
        findings_.error(link.line, "an NVLink of a GPU to itself");
      } else {
        pairs[{link.gpu, peer->second}] += link.count;
      }
    }
    for (const auto& [pair, count] : pairs) {
      const auto back = pairs.find({pair.second, pair.first});
      if (back != pairs.end() && back->second != count) {
        findings_.error(survey_.gpus[pair.first].line,
                        fmt::format("{} NVLinks from {} to {}, but {} back", count,
                                    survey_.gpus[pair.first].name, survey_.gpus[pair.second].name,
                                    back->second));
      }
      if (pair.first < pair.second || back == pairs.end()) {
        survey_.direct.push_back(
            {std::min(pair.first, pair.second), std::max(pair.first, pair.second), count});
      }
    }
    const bool switched =
        std::any_of(survey_.gpus.begin(), survey_.gpus.end(),
                    [](const SurveyGpu& gpu) { return gpu.fabric_links.has_value(); });
    if (switched && !survey_.direct.empty()) {
      findings_.error(0, "NVLinks lead to switches and to GPUs in one node, which is not modelled");
    }
    if (switched) {
      survey_.nvlink = NvlinkShape::switched;
    } else if (!survey_.direct.empty()) {
      survey_.nvlink = NvlinkShape::direct;
    } else if (dump_) {
      survey_.nvlink = NvlinkShape::none;
    } else {
      findings_.note(0,
                     "a file written by hand, without NVLinks: NCCL adds them when it runs, so "
                     "they are unknown here");
    }
  }

  struct ToGpu {
    std::size_t gpu;
    std::string target;
    std::int64_t count;
    std::uint32_t line;
  };

  std::string_view text_;
  bool dump_;
  Findings& findings_;
  Survey survey_;
  std::set<std::string> busids_;
  std::map<std::string, std::size_t> by_busid_;
  std::vector<ToGpu> to_gpus_;
};

/// Counts elements, and learns whether NCCL wrote the file: only a running NCCL knows ranks.
struct Overview : pugi::xml_tree_walker {
  std::size_t count = 0;
  std::size_t without_class = 0;  ///< PCI devices
  bool dump = false;
  bool for_each(xml_node& node) override {
    if (node.type() == pugi::node_element) ++count;
    if (std::string_view(node.name()) == "pci" && attribute(node, "class").empty()) ++without_class;
    if (node.attribute("host_hash") || node.attribute("rank") ||
        std::string_view(node.name()) == "net") {
      dump = true;
    }
    return count <= kMostXmlNodes;
  }
};

bool alike(const Survey& a, const Survey& b) {
  const auto same_place = [](const PciePlace& x, const PciePlace& y) {
    return x.under == y.under && x.root == y.root &&
           x.uplink_per_direction == y.uplink_per_direction;
  };
  if (a.gpus.size() != b.gpus.size() || a.nics.size() != b.nics.size() ||
      a.numa.size() != b.numa.size() || a.switches.size() != b.switches.size() ||
      a.direct.size() != b.direct.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    if (!same_place(a.gpus[i].pcie, b.gpus[i].pcie) ||
        a.gpus[i].fabric_links != b.gpus[i].fabric_links) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.nics.size(); ++i) {
    if (!same_place(a.nics[i].pcie, b.nics[i].pcie)) return false;
  }
  return true;
}

Survey survey_hosts(const xml_node& system, std::string_view text, bool dump, Findings& findings) {
  std::map<std::string, HostSurveyor> hosts;
  std::vector<std::string> order;
  for (const xml_node& cpu : system.children("cpu")) {
    const std::string hash(attribute(cpu, "host_hash"));
    const auto [host, fresh] = hosts.try_emplace(hash, text, dump, findings);
    if (fresh) order.push_back(hash);
    host->second.add_cpu(cpu);
  }
  if (order.empty()) {
    findings.error(0, "<system> holds no <cpu>");
    return {};
  }
  Survey survey = hosts.at(order.front()).finish();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!alike(survey, hosts.at(order[i]).finish())) {
      findings.error(0, fmt::format("the {} hosts of this file differ", order.size()),
                     "import each by itself");
      break;
    }
  }
  survey.nodes = static_cast<std::int64_t>(order.size());
  return survey;
}

}  // namespace

Survey read_nccl_xml(std::string_view text, const std::string& name) {
  Findings findings(name);
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  const std::string_view root = document.document_element().name();
  for (const OtherRoot& other : kOtherRoots) {
    if (root == other.element) {
      findings.error(1, fmt::format("this is {}", other.what),
                     "NCCL_TOPO_DUMP_FILE=topo.xml makes NCCL write its topology");
      findings.throw_errors();
    }
  }
  if (!parsed) {
    const auto at = std::min<std::size_t>(
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)), text.size());
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    findings.error(static_cast<std::uint32_t>(line),
                   fmt::format("the XML is cut or broken here: {}", parsed.description()));
  } else if (root != "system") {
    findings.error(1, fmt::format("<{}> is not the <system> of a NCCL topology",
                                  std::string(root).substr(0, 40)));
  }
  findings.throw_errors();
  Overview overview;
  document.traverse(overview);
  if (overview.count > kMostXmlNodes) findings.error(0, "more XML nodes than any machine has");
  findings.throw_errors();
  if (overview.count > kNcclXmlNodes) {
    findings.note(
        0, fmt::format("{} XML nodes: NCCL itself stops at {}", overview.count, kNcclXmlNodes),
        "NCCL refuses such a file; leave out what is no GPU, NIC or bridge over one");
  }
  Survey survey = survey_hosts(document.document_element(), text, overview.dump, findings);
  survey.tool = "NCCL topology XML";
  survey.file = name;
  if (survey.gpus.size() > kMostGpus) findings.error(0, "more GPUs than any node has");
  if (survey.gpus.empty() && overview.without_class > 0) {
    findings.error(0,
                   fmt::format("no PCI device is a GPU: {} have no class, which NCCL looks up when "
                               "it runs",
                               overview.without_class),
                   "NCCL_TOPO_DUMP_FILE=topo.xml makes NCCL write its topology");
  } else if (survey.gpus.empty()) {
    findings.error(0, "no PCI device is a GPU");
  }
  findings.throw_errors();
  flag_odd_ones(survey, findings);
  survey.notes = findings.take_notes();
  return survey;
}

}  // namespace weft::topology
