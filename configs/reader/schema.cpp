// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/schema.hpp"

#include <string_view>

#include <fmt/format.h>

#include "configs/reader/json_writer.hpp"

namespace weft::config {
namespace {

// The type in words: "array of bandwidth, more than 0 B/s, with source".
std::string in_words(const TypeDescription& type) {
  std::string words;
  if (type.type == "array" || type.type == "map") {
    words = fmt::format("{} of {}", type.type, in_words(type.element.front()));
  } else if (type.type == "sourced") {
    return fmt::format("{}, with source", in_words(type.element.front()));
  } else if (type.type == "choice") {
    return fmt::format("{}", fmt::join(type.choices, " | "));
  } else {
    words = type.type;
  }
  if (!type.units.empty()) words += fmt::format(" in {}", fmt::join(type.units, " "));
  if (!type.range.empty()) words += ", " + type.range;
  return words;
}

// The object whose keys are listed below a key: the type itself or what its list holds.
const TypeDescription* object_in(const TypeDescription& type) {
  if (type.type == "object") return &type;
  if (type.element.empty()) return nullptr;
  return object_in(type.element.front());
}

// Appends words, wrapped, each line indented.
void wrap(std::string& out, std::string_view text, std::size_t indent, std::size_t width) {
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out += std::string(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out += '\n';
}

void list_keys(std::string& out, const TypeDescription& object, std::size_t indent,
               std::size_t width) {
  for (const KeyDescription& key : object.keys) {
    std::string line = fmt::format("\"{}\": {}", key.name, in_words(key.type));
    if (!key.required) {
      line += key.fallback ? fmt::format("; default {}", to_json(*key.fallback, Layout::compact))
                           : std::string("; optional");
    }
    if (!key.when.empty()) line += fmt::format("; when {}", key.when);
    wrap(out, line, indent, width);
    if (!key.doc.empty()) wrap(out, key.doc, indent + 4, width);
    if (const TypeDescription* nested = object_in(key.type)) {
      list_keys(out, *nested, indent + 2, width);
    }
  }
}

Value strings(const std::vector<std::string>& texts) {
  Value value = Value::array();
  for (const std::string& text : texts) value.push(text);
  return value;
}

}  // namespace

bool operator==(const TypeDescription& a, const TypeDescription& b) {
  return a.type == b.type && a.units == b.units && a.range == b.range && a.choices == b.choices &&
         a.element == b.element && a.keys == b.keys;
}

bool operator==(const KeyDescription& a, const KeyDescription& b) {
  return a.name == b.name && a.doc == b.doc && a.required == b.required &&
         a.fallback == b.fallback && a.when == b.when && a.type == b.type;
}

std::string to_text(const TypeDescription& object, std::size_t width) {
  std::string out;
  list_keys(out, object, 0, width);
  return out;
}

Value to_value(const TypeDescription& type) {
  Value value = Value::object({{"type", type.type}});
  if (!type.units.empty()) value.set("units", strings(type.units));
  if (!type.range.empty()) value.set("range", type.range);
  if (!type.choices.empty()) value.set("choices", strings(type.choices));
  if (!type.element.empty()) value.set("element", to_value(type.element.front()));
  if (type.type != "object") return value;
  Value keys = Value::array();
  for (const KeyDescription& key : type.keys) {
    Value entry = Value::object({{"name", key.name}, {"doc", key.doc}, {"required", key.required}});
    if (key.fallback) entry.set("default", *key.fallback);
    if (!key.when.empty()) entry.set("when", key.when);
    entry.set("value", to_value(key.type));
    keys.push(std::move(entry));
  }
  value.set("keys", std::move(keys));
  return value;
}

}  // namespace weft::config
