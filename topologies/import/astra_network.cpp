// SPDX-License-Identifier: Apache-2.0
// Keys of the network file are those of astra-network-analytical (input/*.yml): topology, npus_count,
// bandwidth (GB/s, 2^30 bytes), latency (ns), one entry a dimension. Those of the system file are of
// ASTRA-sim 2.0 (inputs/system). yaml-cpp stays here.
#include "topologies/import/astra_network.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include "configs/reader/codec.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/foreign_text.hpp"
#include "configs/reader/sourced.hpp"
#include "configs/reader/strict_object.hpp"
#include "sim/units/quote.hpp"

namespace weft::topology {
namespace {

using config::Findings;
using config::Value;

constexpr double kAstraGigabyte = 1073741824.0;  // 2^30 bytes
constexpr std::int64_t kMostNpus = std::int64_t{1} << 20;
constexpr std::int64_t kMostGroups = 512;
constexpr std::size_t kMostAstraDimensions = 8;
constexpr std::size_t kLongestAstraFile = std::size_t{1} << 18;

std::uint32_t line_in(const YAML::Node& node) {
  return node.Mark().line < 0 ? 0U : static_cast<std::uint32_t>(node.Mark().line) + 1;
}

class NetworkReader {
 public:
  NetworkReader(AstraNetwork& network, Findings& findings)
      : network_(network), findings_(findings) {}

  void read(const YAML::Node& root) {
    if (!root.IsMap()) {
      findings_.error(1, "no mapping with topology, npus_count, bandwidth and latency");
      return;
    }
    const YAML::Node shapes = root["topology"];
    if (!shapes || !shapes.IsSequence() || shapes.size() == 0 ||
        shapes.size() > kMostAstraDimensions) {
      findings_.error(
          1, fmt::format("topology is no list of 1 to {} dimensions", kMostAstraDimensions));
      return;
    }
    network_.dimensions.resize(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      network_.dimensions[i].shape = shape_of(shapes[i]);
    }
    each(root, "npus_count", [](AstraDimension& dimension, double number) {
      if (!(number >= 1 && number <= static_cast<double>(kMostNpus))) return false;
      dimension.npus = static_cast<std::int64_t>(number);
      return number == std::floor(number);
    });
    each(root, "bandwidth", [](AstraDimension& dimension, double number) {
      if (!(number > 0 && number <= 1e6)) return false;
      dimension.bandwidth_per_direction =
          Bandwidth::from_bytes_per_second(std::llround(number * kAstraGigabyte));
      return true;
    });
    each(root, "latency", [](AstraDimension& dimension, double number) {
      if (!(number >= 0 && number <= 1e9)) return false;
      dimension.latency = Duration::from_ps(std::llround(number * 1000));
      return true;
    });
    for (const auto& entry : root) {
      const std::string key = entry.first.Scalar();
      if (key != "topology" && key != "npus_count" && key != "bandwidth" && key != "latency") {
        findings_.note(line_in(entry.first), fmt::format("key {} is ignored", in_quotes(key)));
      }
    }
  }

 private:
  AstraShape shape_of(const YAML::Node& node) {
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    if (text == "Switch") return AstraShape::fabric_switch;
    if (text == "Ring") return AstraShape::ring;
    if (text == "FullyConnected") return AstraShape::fully_connected;
    findings_.error(line_in(node), fmt::format("there is no topology {}", in_quotes(text)),
                    "Ring, FullyConnected or Switch");
    return AstraShape::ring;
  }

  void each(const YAML::Node& root, const char* key,
            const std::function<bool(AstraDimension&, double)>& set) {
    const YAML::Node list = root[key];
    if (!list || !list.IsSequence() || list.size() != network_.dimensions.size()) {
      findings_.error(list ? line_in(list) : 1U,
                      fmt::format("{} is no list of {} numbers, one a dimension", key,
                                  network_.dimensions.size()));
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto number = list[i].IsScalar() ? config::real_number(list[i].Scalar()) : std::nullopt;
      if (!number || !set(network_.dimensions[i], *number)) {
        findings_.error(line_in(list[i]),
                        fmt::format("{} of dimension {} is out of range or no number", key, i + 1),
                        list[i].IsScalar() && !number
                            ? "the ns-3 backend writes these as text with "
                              "units; only the analytical one is read"
                            : "");
      }
    }
  }

  AstraNetwork& network_;
  Findings& findings_;
};

/// The NPUs of a group by name, the `turn`-th first: a range where they follow each other.
std::string npus_of(std::int64_t first, std::int64_t stride, std::int64_t count,
                    std::int64_t turn) {
  if (stride == 1 && turn == 0) return fmt::format("npu[{}-{}]", first, first + count - 1);
  if (stride == 1) return fmt::format("npu[{}-{},{}]", first + 1, first + count - 1, first);
  std::string text = "npu[";
  for (std::int64_t i = 0; i < count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", first + (i + turn) % count * stride);
  return text + "]";
}

template <class T>
Value sourced(const T& value, const std::string& name) {
  return config::to_value(config::Sourced<T>{
      value, {config::SourceKind::published, fmt::format("ASTRA-sim network {}", name)}});
}

}  // namespace

bool looks_like_astra_network(std::string_view text) {
  return text.find("npus_count") != text.npos;
}

bool looks_like_astra_system(std::string_view text) {
  for (const std::string_view key :
       {"\"all-reduce-implementation\"", "\"preferred-dataset-splits\"", "\"endpoint-delay\""}) {
    if (text.find(key) != text.npos) return true;
  }
  return false;
}

AstraNetwork read_astra_network(std::string_view text, const std::string& name) {
  Findings findings(name);
  AstraNetwork network;
  const auto brackets =
      std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{');
  if (text.size() > kLongestAstraFile || brackets > 64 ||
      text.find(std::string(64, ' ')) != text.npos || text.find("- - - ") != text.npos ||
      text.find("? ? ? ") != text.npos) {
    findings.error(0, "larger or deeper than any such file");
    findings.throw_errors();
  }
  try {
    NetworkReader(network, findings).read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& fault) {
    findings.error(fault.mark.line < 0 ? 0U : static_cast<std::uint32_t>(fault.mark.line) + 1,
                   fmt::format("no YAML: {}", in_quotes(fault.msg, 80)));
  }
  findings.throw_errors();
  network.notes = findings.take_notes();
  return network;
}

AstraSystem read_astra_system(std::string_view text, const std::string& name) {
  const config::Document document =
      config::Document::parse(text, name, {.dialect = config::Dialect::tolerant});
  config::StrictObject object(document);
  AstraSystem system;
  system.splits =
      object.defaulted<std::int64_t>({"preferred-dataset-splits", "chunks of a collective"}, 1,
                                     config::between<std::int64_t>(1, 4096));
  system.active_chunks =
      object.defaulted<std::int64_t>({"active-chunks-per-dimension", "chunks in flight"}, 1,
                                     config::between<std::int64_t>(1, 4096));
  system.all_reduce = object.required<std::vector<std::string>>(
      {"all-reduce-implementation", "algorithm of each dimension"});
  const auto algorithms = [&](const char* key) {
    return object.defaulted<std::vector<std::string>>({key, "algorithm of each dimension"}, {});
  };
  system.all_gather = algorithms("all-gather-implementation");
  system.reduce_scatter = algorithms("reduce-scatter-implementation");
  system.all_to_all = algorithms("all-to-all-implementation");
  const auto rate = [&](const char* key, const char* what, double unit) -> std::optional<double> {
    const double value = object.defaulted<double>({key, what}, 0, config::between<double>(0, 1e9));
    if (value <= 0) return std::nullopt;
    return value * unit;
  };
  system.peak = rate("peak-perf", "TFLOPS of an NPU", 1e12);
  system.memory = rate("local-mem-bw", "GB/s of an NPU's memory", 1e9);
  object.finish();
  system.notes = object.notes();
  return system;
}

Value machine_of(const AstraNetwork& network, const std::string& name) {
  std::int64_t npus = 1, groups = 0;
  for (const AstraDimension& dimension : network.dimensions) {
    npus = std::min(npus * dimension.npus, kMostNpus + 1);
  }
  for (const AstraDimension& dimension : network.dimensions) groups += npus / dimension.npus;
  if (npus > kMostNpus || (network.dimensions.size() > 1 && groups > kMostGroups)) {
    throw std::invalid_argument(fmt::format(
        "{} groups of NPUs are more than the {} that a machine file lists", groups, kMostGroups));
  }
  Value links = Value::array(), switches = Value::array();
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < network.dimensions.size(); ++d) {
    const AstraDimension& dimension = network.dimensions[d];
    const auto link = [&](const std::string& from, const std::string& to, const char* pairing) {
      Value value = Value::object({{"from", from}, {"to", to}, {"pairing", pairing}});
      value.set("bandwidth_per_direction", sourced(dimension.bandwidth_per_direction, name));
      value.set("latency", sourced(dimension.latency, name));
      links.push(std::move(value));
    };
    for (std::int64_t first = 0; first < npus && dimension.npus > 1; ++first) {
      if (first / stride % dimension.npus != 0) continue;
      const std::string group = npus_of(first, stride, dimension.npus, 0);
      if (dimension.shape == AstraShape::fabric_switch) {
        const std::string hub = network.dimensions.size() == 1
                                    ? std::string("switch")
                                    : fmt::format("switch{}.{}", d, first);
        switches.push(Value::object({{"name", hub}}));
        link(group, hub, "all");
      } else if (dimension.shape == AstraShape::fully_connected || dimension.npus <= 3) {
        link(group, group, "all");
      } else {
        link(group, npus_of(first, stride, dimension.npus, 1), "zip");
      }
    }
    stride *= dimension.npus;
  }
  Value node = Value::object(
      {{"devices", npus == 1 ? std::string("npu0") : fmt::format("npu[0-{}]", npus - 1)},
       {"hosts", nullptr}});
  if (!switches.items().empty()) node.set("switches", std::move(switches));
  node.set("links", std::move(links));
  return Value::object({{"schema", "weft.machine/1"},
                        {"name", fmt::format("ASTRA-sim network {}", name)},
                        {"profile", nullptr},
                        {"device", nullptr},
                        {"node", std::move(node)}});
}

}  // namespace weft::topology
