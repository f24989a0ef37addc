// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

#include "topologies/machine_spec.hpp"

namespace weft::topology {
namespace {

// No machine has this many parts of one kind; a pattern that names more is a slip.
constexpr std::int64_t most_names = 1 << 16;

std::int64_t number(const std::string& pattern, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw std::invalid_argument(fmt::format("\"{}\" is no number in \"{}\"", text, pattern));
  }
  return value;
}

// The numbers of "0-3,6", or of "*" as 0 .. nodes-1.
std::vector<std::int64_t> numbers(const std::string& pattern, std::string_view text,
                                  std::int64_t nodes) {
  std::vector<std::int64_t> values;
  if (text == "*") text = {};
  const bool every_node = text.data() == nullptr;
  if (every_node) {
    for (std::int64_t i = 0; i < nodes; ++i) values.push_back(i);
    return values;
  }
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::int64_t first = number(pattern, part.substr(0, dash));
    const std::int64_t last =
        dash == std::string_view::npos ? first : number(pattern, part.substr(dash + 1));
    if (last < first || last - first >= most_names) {
      throw std::invalid_argument(
          fmt::format("the range {} in \"{}\" is empty or too large", part, pattern));
    }
    for (std::int64_t i = first; i <= last; ++i) values.push_back(i);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> expand_pattern(const std::string& pattern, std::int64_t nodes) {
  std::vector<std::string> names = {""};
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) {
      throw std::invalid_argument(fmt::format("\"{}\" has no closing bracket", pattern));
    }
    const auto values = numbers(pattern, rest.substr(open + 1, close - open - 1), nodes);
    if (static_cast<std::int64_t>(values.size() * names.size()) > most_names) {
      throw std::invalid_argument(fmt::format("\"{}\" names too many parts", pattern));
    }
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::int64_t value : values) longer.push_back(name + std::to_string(value));
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  if (pattern.empty()) throw std::invalid_argument("a part must have a name");
  return names;
}

std::vector<std::pair<std::string, std::string>> expand_pairs(const LinkSpec& link,
                                                              std::int64_t nodes) {
  const std::vector<std::string> from = expand_pattern(link.from, nodes);
  const std::vector<std::string> to = expand_pattern(link.to, nodes);
  std::vector<std::pair<std::string, std::string>> pairs;
  if (link.pairing == LinkSpec::Pairing::all) {
    const bool mesh = link.from == link.to;
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = mesh ? i + 1 : 0; j < to.size(); ++j) pairs.emplace_back(from[i], to[j]);
    }
    return pairs;
  }
  if (from.size() % to.size() != 0) {
    throw std::invalid_argument(
        fmt::format("{} names {} parts and {} names {}: the first count must be a "
                    "multiple of the second",
                    link.from, from.size(), link.to, to.size()));
  }
  const std::size_t run = from.size() / to.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    pairs.emplace_back(from[i],
                       to[link.pairing == LinkSpec::Pairing::zip ? i % to.size() : i / run]);
  }
  return pairs;
}

std::int64_t devices_per_node(const MachineSpec& spec) {
  return static_cast<std::int64_t>(expand_pattern(spec.node.devices, spec.nodes).size());
}

std::int64_t total_devices(const MachineSpec& spec) {
  return spec.nodes * devices_per_node(spec);
}

}  // namespace weft::topology
