// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of mlcommons/chakra, schema/protobuf/et_def.proto (0.0.4): a Node has id 1,
// name 2, type 3, ctrl_deps 4, data_deps 5, duration_micros 7 and attr 10; an attribute its name 1 and
// one value, int32 7, int64 9, uint32 11, uint64 13, sint32 15, sint64 17, fixed 19 to 25, bool 27,
// bool_list 28, string 29. An id of 0 is not written at all.
#include "models/import/chakra.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "models/import/chakra_nodes.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;

constexpr std::int64_t kMostMicros = std::int64_t{1} << 40;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;

/// The wire format: a field's number and kind, then a number or bytes.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ >= bytes_.size(); }
  std::size_t at() const { return at_; }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (done()) return std::nullopt;
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= (std::uint64_t{byte} & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    return std::nullopt;
  }

  std::optional<std::string_view> bytes() {
    const auto size = varint();
    if (!size || *size > bytes_.size() - at_) return std::nullopt;
    const std::string_view part = bytes_.substr(at_, *size);
    at_ += *size;
    return part;
  }

  std::optional<std::uint64_t> fixed(std::size_t size) {
    if (bytes_.size() - at_ < size) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  ///< of a number
  std::string_view bytes;   ///< of a text, a message or a packed list
};

/// Calls `take` with every field; false where the message is none.
template <class Take>
bool each_field(std::string_view message, Take&& take) {
  Wire wire(message);
  while (!wire.done()) {
    const auto key = wire.varint();
    if (!key || *key >> 3 == 0) return false;
    Field field{*key >> 3, 0, {}};
    switch (*key & 7U) {
      case 0: {
        const auto value = wire.varint();
        if (!value) return false;
        field.value = *value;
        break;
      }
      case 1:
      case 5: {
        const auto value = wire.fixed((*key & 7U) == 1 ? 8 : 4);
        if (!value) return false;
        field.value = *value;
        break;
      }
      case 2: {
        const auto bytes = wire.bytes();
        if (!bytes) return false;
        field.bytes = *bytes;
        break;
      }
      default:
        return false;
    }
    take(field);
  }
  return true;
}

/// Numbers of a repeated field, packed or one by one.
template <class Number>
bool add_numbers(const Field& field, std::vector<Number>& numbers) {
  if (field.bytes.empty()) {
    numbers.push_back(static_cast<Number>(field.value));
    return true;
  }
  Wire wire(field.bytes);
  while (!wire.done()) {
    const auto value = wire.varint();
    if (!value) return false;
    numbers.push_back(static_cast<Number>(*value));
  }
  return true;
}

std::int64_t zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1U) + 1U));
}

bool read_attribute(std::string_view message, RawChakraNode& node) {
  std::string name;
  std::optional<std::int64_t> number;
  std::optional<std::string> text;
  std::vector<bool> flags;
  bool good = true;
  good = each_field(message,
                    [&](const Field& field) {
                      if (field.number == 1) name = field.bytes;
                      if (field.number >= 7 && field.number <= 27 && field.number % 2 == 1) {
                        const bool folded = field.number == 15 || field.number == 17;
                        number =
                            folded ? zigzag(field.value) : static_cast<std::int64_t>(field.value);
                      }
                      if (field.number == 29) text = std::string(field.bytes);
                      if (field.number != 28) return;
                      good = each_field(field.bytes,
                                        [&](const Field& list) {
                                          if (list.number == 1)
                                            good = add_numbers(list, flags) && good;
                                        }) &&
                             good;
                    }) &&
         good;
  // A number of 0 and an empty text are not written: the attribute is there all the same.
  if (name == "involved_dim") {
    node.dimensions = std::move(flags);
  } else if (text) {
    node.texts[name] = std::move(*text);
  } else {
    node.numbers[name] = number.value_or(0);
  }
  return good;
}

bool read_node(std::string_view message, RawChakraNode& node) {
  bool good = true;
  const bool whole = each_field(message, [&](const Field& field) {
    if (field.number == 1) node.id = field.value;
    if (field.number == 2) node.name = field.bytes;
    if (field.number == 3) node.type = static_cast<std::int64_t>(field.value);
    if (field.number == 4 || field.number == 5) good = add_numbers(field, node.needs) && good;
    if (field.number == 7) node.duration_micros = static_cast<std::int64_t>(field.value);
    if (field.number == 10) good = read_attribute(field.bytes, node) && good;
  });
  return whole && good;
}

void read_protobuf(std::string_view bytes, ChakraTrace& trace, Findings& findings) {
  Wire wire(bytes);
  const auto metadata = wire.bytes();
  if (!metadata || !each_field(*metadata, [&](const Field& field) {
        // Before 0.0.4 the first field was the list of attributes.
        const bool version = field.number == 1 && field.bytes.size() <= 32 &&
                             std::all_of(field.bytes.begin(), field.bytes.end(),
                                         [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
        if (version) trace.version = field.bytes;
      })) {
    findings.error(0, "no Chakra trace: it does not begin with a message of metadata",
                   "chakra_converter writes such files");
    return;
  }
  while (!wire.done() && trace.nodes.size() < kMostChakraNodes) {
    const std::size_t at = wire.at();
    const auto message = wire.bytes();
    if (!message) {
      findings.note(0, fmt::format("the file ends inside the node at byte {}: what is after it is "
                                   "not there",
                                   at));
      return;
    }
    RawChakraNode node;
    if (!read_node(*message, node)) {
      findings.error(0, fmt::format("the message at byte {} is no node", at));
      return;
    }
    add_node(std::move(node), trace, findings);
  }
  if (!wire.done()) findings.error(0, fmt::format("more than {} nodes", kMostChakraNodes));
}

std::int64_t number_of(const RawChakraNode& node, const std::string& name) {
  const auto found = node.numbers.find(name);
  return found == node.numbers.end() ? 0 : found->second;
}

// CollectiveCommType of et_def.proto.
constexpr std::array<std::pair<std::string_view, std::optional<ChakraCollective>>, 10> kCollectives{
    {{"ALL_REDUCE", ChakraCollective::all_reduce},
     {"REDUCE", std::nullopt},
     {"ALL_GATHER", ChakraCollective::all_gather},
     {"GATHER", std::nullopt},
     {"SCATTER", std::nullopt},
     {"BROADCAST", ChakraCollective::broadcast},
     {"ALL_TO_ALL", ChakraCollective::all_to_all},
     {"REDUCE_SCATTER", ChakraCollective::reduce_scatter},
     {"REDUCE_SCATTER_BLOCK", ChakraCollective::reduce_scatter},
     {"BARRIER", ChakraCollective::barrier}}};

}  // namespace

std::string_view name_of(ChakraKind kind) {
  switch (kind) {
    case ChakraKind::metadata:
      return "metadata";
    case ChakraKind::memory:
      return "memory";
    case ChakraKind::compute:
      return "compute";
    case ChakraKind::send:
      return "send";
    case ChakraKind::receive:
      return "receive";
    case ChakraKind::collective:
      return "collective";
  }
  return "unknown";
}

std::string_view name_of(ChakraCollective op) {
  switch (op) {
    case ChakraCollective::all_reduce:
      return "all-reduce";
    case ChakraCollective::all_gather:
      return "all-gather";
    case ChakraCollective::reduce_scatter:
      return "reduce-scatter";
    case ChakraCollective::all_to_all:
      return "all-to-all";
    case ChakraCollective::broadcast:
      return "broadcast";
    case ChakraCollective::barrier:
      return "barrier";
  }
  return "unknown";
}

void add_node(RawChakraNode raw, ChakraTrace& trace, Findings& findings) {
  constexpr ChakraKind kKinds[] = {ChakraKind::metadata, ChakraKind::metadata,  ChakraKind::memory,
                                   ChakraKind::memory,   ChakraKind::compute,   ChakraKind::send,
                                   ChakraKind::receive,  ChakraKind::collective};
  const auto wrong = [&](const std::string& what) {
    findings.error(0, fmt::format("node {}: {}", raw.id, what));
  };
  if (raw.type < 1 || raw.type >= static_cast<std::int64_t>(std::size(kKinds)))
    return wrong(fmt::format("there is no type {}", raw.type));
  ChakraNode node;
  node.id = raw.id;
  node.name = std::move(raw.name);
  node.kind = kKinds[raw.type];
  node.needs = std::move(raw.needs);
  node.on_cpu = number_of(raw, "is_cpu_op") != 0;
  const auto size = [&](const char* name, std::int64_t& value) {
    value = number_of(raw, name);
    if (value < 0 || value > kMostBytes) {
      wrong(fmt::format("{} {} is no size", name, value));
      value = 0;
    }
  };
  std::int64_t micros = std::max(raw.duration_micros, number_of(raw, "runtime"));
  if (raw.duration_micros < 0 || micros < 0 || micros > kMostMicros) {
    wrong(fmt::format("{} us is no duration", raw.duration_micros));
    micros = 0;
  }
  node.duration = Duration::from_ps(micros * 1'000'000);
  size("num_ops", node.operations);
  size("tensor_size", node.tensor_bytes);
  size("comm_size", node.bytes);
  if (node.kind == ChakraKind::send) size("comm_dst", node.peer);
  if (node.kind == ChakraKind::receive) size("comm_src", node.peer);
  node.tag = number_of(raw, "comm_tag");
  if (node.kind == ChakraKind::collective) {
    const auto named = raw.texts.find("comm_type");
    std::size_t type = kCollectives.size();
    for (std::size_t i = 0; i < kCollectives.size(); ++i) {
      if (named != raw.texts.end() ? kCollectives[i].first == named->second
                                   : number_of(raw, "comm_type") == static_cast<std::int64_t>(i))
        type = i;
    }
    if (named == raw.texts.end() && !raw.numbers.contains("comm_type")) {
      wrong("a collective that does not say which");
    } else if (type == kCollectives.size()) {
      wrong(fmt::format("there is no collective {}",
                        named != raw.texts.end() ? in_quotes(named->second)
                                                 : std::to_string(number_of(raw, "comm_type"))));
    } else if (!kCollectives[type].second) {
      wrong(
          fmt::format("{} cannot be run: all-reduce, all-gather, reduce-scatter, all-to-all, "
                      "broadcast and barrier can",
                      kCollectives[type].first));
    } else {
      node.collective = *kCollectives[type].second;
    }
    node.dimensions = std::move(raw.dimensions);
    if (const auto group = raw.texts.find("pg_name"); group != raw.texts.end())
      node.group = group->second;
  }
  trace.nodes.push_back(std::move(node));
}

void order_nodes(ChakraTrace& trace, Findings& findings) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (!place.emplace(trace.nodes[i].id, i).second)
      findings.error(0, fmt::format("node {} is there twice", trace.nodes[i].id));
  }
  std::vector<std::vector<std::size_t>> followers(trace.nodes.size());
  std::vector<std::size_t> open(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    std::vector<std::uint64_t>& needs = trace.nodes[i].needs;
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    for (const std::uint64_t need : needs) {
      const auto found = place.find(need);
      if (found == place.end()) {
        findings.error(
            0, fmt::format("node {} needs node {}, which is not there", trace.nodes[i].id, need));
        continue;
      }
      followers[found->second].push_back(i);
      ++open[i];
    }
  }
  if (!findings.good()) return;
  using Free = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i] == 0) free.emplace(trace.nodes[i].id, i);
  }
  std::vector<ChakraNode> ordered;
  while (!free.empty()) {
    const std::size_t next = free.top().second;
    free.pop();
    for (const std::size_t follower : followers[next]) {
      if (--open[follower] == 0) free.emplace(trace.nodes[follower].id, follower);
    }
    ordered.push_back(std::move(trace.nodes[next]));
  }
  if (ordered.size() != trace.nodes.size()) {
    findings.error(0, fmt::format("{} nodes need each other in a circle",
                                  trace.nodes.size() - ordered.size()));
  }
  trace.nodes = std::move(ordered);
}

bool looks_like_chakra(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != head.npos && (head[first] == '{' || head[first] == '[')) {
    for (const std::string_view sign : {"COMM_COLL_NODE", "COMP_NODE", "workload_graph",
                                        "\"schema\": \"1.0.2-chakra", "dataDeps"}) {
      if (head.find(sign) != head.npos) return true;
    }
    return false;
  }
  // A metadata message and a node, whose first field is its id or its name.
  Wire wire(head.substr(0, 4096));
  const auto metadata = wire.bytes();
  const bool good = metadata && each_field(*metadata, [](const Field&) {});
  const auto size = good && !metadata->empty() ? wire.varint() : std::nullopt;
  const auto key = size ? wire.varint() : std::nullopt;
  return key && (*key == 0x08U || *key == 0x12U) && *size > 2;
}

ChakraTrace read_chakra(std::string_view bytes, const std::string& name) {
  Findings findings(name);
  ChakraTrace trace;
  trace.file = name;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != bytes.npos && (bytes[first] == '{' || bytes[first] == '[')) {
    read_chakra_json(bytes, trace, findings);
  } else {
    read_protobuf(bytes, trace, findings);
  }
  if (findings.good() && trace.nodes.empty()) findings.error(0, "no node is in this trace");
  if (findings.good()) order_nodes(trace, findings);
  findings.throw_errors();
  trace.notes = findings.take_notes();
  return trace;
}

}  // namespace weft::model
