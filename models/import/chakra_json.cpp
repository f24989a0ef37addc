// SPDX-License-Identifier: Apache-2.0
// Three spellings: protobuf's own JSON with camelCase keys ("dataDeps", "int64Val", numbers as text),
// the same with the names of the schema ("data_deps", "int64_val"), and the flat one of Chakra's JSON
// feeder ("Id", "NodeType", "comm_size" in the node itself). They come as one array, as "nodes" or
// "workload_graph" of an object, or as objects one after another, as chakra_jsonizer writes them.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "models/import/chakra_nodes.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;
using config::Value;

constexpr std::string_view kTypes[] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                       "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                       "COMM_RECV_NODE", "COMM_COLL_NODE"};

constexpr std::string_view kFlatNumbers[] = {"is_cpu_op", "runtime",      "num_ops",  "tensor_size",
                                             "comm_type", "comm_size",    "comm_src", "comm_dst",
                                             "comm_tag",  "comm_priority"};

const Value* any_of(const Value& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Value* value = object.find(key)) return value;
  }
  return nullptr;
}

/// A number, a number as text, or a boolean.
std::optional<std::int64_t> integer_of(const Value& value) {
  if (value.is_integer()) return value.as_integer();
  if (value.is_boolean()) return value.as_boolean() ? 1 : 0;
  if (value.is_string()) return config::whole_number(value.as_string());
  return std::nullopt;
}

class JsonReader {
 public:
  JsonReader(ChakraTrace& trace, Findings& findings) : trace_(trace), findings_(findings) {}

  void read(const Value& value) {
    if (value.is_array()) {
      for (const Value& each : value.items()) node(each);
    } else if (const Value* list = any_of(value, {"workload_graph", "nodes"})) {
      if (const Value* schema = value.find("schema"); schema != nullptr && schema->is_string()) {
        findings_.error(0, "this is an execution trace of PyTorch, before Chakra",
                        "chakra_trace_link and chakra_converter make one of it");
      } else if (list->is_array()) {
        for (const Value& each : list->items()) node(each);
      } else {
        findings_.error(0, "its nodes are no list");
      }
    } else {
      node(value);
    }
  }

 private:
  void node(const Value& value) {
    if (trace_.nodes.size() >= kMostChakraNodes) return;
    if (!value.is_object()) return findings_.error(value.place().line, "a node is an object");
    const Value* id = any_of(value, {"id", "Id"});
    const Value* type = any_of(value, {"type", "NodeType"});
    if (type == nullptr) {
      const Value* version = value.find("version");
      if (version != nullptr && version->is_string()) trace_.version = version->as_string();
      if (id != nullptr || value.find("name") != nullptr)
        findings_.error(value.place().line, "a node without a type");
      return;  // metadata
    }
    RawChakraNode raw;
    const auto number = id == nullptr ? std::optional<std::int64_t>(0) : integer_of(*id);
    if (!number || *number < 0)
      return findings_.error(value.place().line, "a node whose id is no number");
    raw.id = static_cast<std::uint64_t>(*number);
    if (const Value* name = any_of(value, {"name", "Name"}); name != nullptr && name->is_string())
      raw.name = name->as_string();
    raw.type = type_of(*type);
    needs(any_of(value, {"ctrlDeps", "ctrl_deps"}), raw);
    needs(any_of(value, {"dataDeps", "data_deps"}), raw);
    if (const Value* micros = any_of(value, {"durationMicros", "duration_micros"}))
      raw.duration_micros = integer_of(*micros).value_or(-1);
    for (const std::string_view key : kFlatNumbers) {
      if (const Value* flat = value.find(key)) {
        if (flat->is_string() && key == "comm_type" && !integer_of(*flat)) {
          raw.texts["comm_type"] = flat->as_string();
        } else {
          raw.numbers[std::string(key)] = integer_of(*flat).value_or(-1);
        }
      }
    }
    dimensions(value.find("involved_dim"), raw);
    if (const Value* list = any_of(value, {"attr", "attrs"}); list != nullptr && list->is_array()) {
      for (const Value& each : list->items()) attribute(each, raw);
    }
    add_node(std::move(raw), trace_, findings_);
  }

  static std::int64_t type_of(const Value& type) {
    if (const auto number = integer_of(type)) return *number;
    for (std::size_t i = 0; i < std::size(kTypes); ++i) {
      if (type.is_string() && type.as_string() == kTypes[i]) return static_cast<std::int64_t>(i);
    }
    return -1;
  }

  void needs(const Value* list, RawChakraNode& raw) {
    if (list == nullptr || !list->is_array()) return;
    for (const Value& each : list->items()) {
      const auto number = integer_of(each);
      if (number && *number >= 0) {
        raw.needs.push_back(static_cast<std::uint64_t>(*number));
      } else {
        findings_.error(each.place().line,
                        fmt::format("node {}: a dependency that is no number", raw.id));
      }
    }
  }

  static void dimensions(const Value* list, RawChakraNode& raw) {
    if (list == nullptr || !list->is_array()) return;
    for (const Value& each : list->items())
      raw.dimensions.push_back(integer_of(each).value_or(0) != 0);
  }

  static void attribute(const Value& value, RawChakraNode& raw) {
    if (!value.is_object()) return;
    const Value* name = value.find("name");
    if (name == nullptr || !name->is_string()) return;
    for (const config::Member& member : value.members()) {
      const std::string& key = member.key;
      if (key == "boolList" || key == "bool_list") {
        if (name->as_string() == "involved_dim" && member.value.is_object())
          dimensions(member.value.find("values"), raw);
      } else if (key == "stringVal" || key == "string_val") {
        if (member.value.is_string()) raw.texts[name->as_string()] = member.value.as_string();
      } else if (key.ends_with("Val") || key.ends_with("_val")) {
        if (const auto number = integer_of(member.value)) raw.numbers[name->as_string()] = *number;
      }
    }
  }

  ChakraTrace& trace_;
  Findings& findings_;
};

/// Where the value that begins at `at` ends; npos where it is cut off.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return at + 1;
      --depth;
    }
  }
  return text.npos;
}

}  // namespace

void read_chakra_json(std::string_view text, ChakraTrace& trace, Findings& findings) {
  JsonReader reader(trace, findings);
  std::uint32_t line = 1;
  std::size_t counted = 0;
  for (std::size_t at = text.find_first_of("{["); at != text.npos && findings.good();) {
    line += static_cast<std::uint32_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                   text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted = at;
    const std::size_t end = end_of_value(text, at);
    if (end == text.npos) {
      findings.note(line, "the file ends inside a value: what is after it is not there");
      return;
    }
    const config::Document document =
        config::Document::parse(text.substr(at, end - at), findings.file(),
                                {.dialect = config::Dialect::tolerant,
                                 .first_line = line,
                                 .max_size = Bytes::from(std::int64_t{256} << 20)});
    reader.read(document.root());
    at = text.find_first_of("{[", end);
  }
}

}  // namespace weft::model
