// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/json_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "sim/units/check.hpp"

namespace weft::config {
namespace {

constexpr std::size_t kFlushAt = std::size_t{64} << 10;
constexpr std::size_t kIndent = 2;
// A short array of plain values stays on one line of about this many characters.
constexpr std::size_t kInlineArray = 80;

// The length of the UTF-8 character at the front (RFC 3629), 0 if it is malformed.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      length = character_length(text);
      out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
      length = std::max<std::size_t>(length, 1);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void append_real(std::string& out, double number) {
  WEFT_CHECK(std::isfinite(number), "JSON has no number for {}", number);
  char text[32];
  const auto result = std::to_chars(std::begin(text), std::end(text), number);
  const std::string_view written(text, static_cast<std::size_t>(result.ptr - text));
  out += written;
  // Keep it a real number when it is read back.
  if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
}

bool is_plain(const Value& value) {
  return !value.is_array() && !value.is_object();
}

void append(std::string& out, const Value& value, Layout layout, std::size_t level);

void append_items(std::string& out, const Value::Array& items, Layout layout, std::size_t level) {
  const std::size_t start = out.size();
  out += '[';
  if (layout == Layout::compact || std::ranges::all_of(items, is_plain)) {
    const std::string_view separator = layout == Layout::compact ? "," : ", ";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += separator;
      append(out, items[i], layout, level);
      if (layout == Layout::pretty && out.size() - start > kInlineArray) break;
    }
    if (layout == Layout::compact || out.size() - start <= kInlineArray) {
      out += ']';
      return;
    }
    out.resize(start + 1);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += i > 0 ? ",\n" : "\n";
    out.append((level + 1) * kIndent, ' ');
    append(out, items[i], layout, level + 1);
  }
  out += '\n';
  out.append(level * kIndent, ' ');
  out += ']';
}

void append_members(std::string& out, const Value::Object& members, Layout layout,
                    std::size_t level) {
  if (members.empty()) {
    out += "{}";
    return;
  }
  out += '{';
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0) out += ',';
    if (layout == Layout::pretty) {
      out += '\n';
      out.append((level + 1) * kIndent, ' ');
    }
    append_string(out, members[i].key);
    out += layout == Layout::pretty ? ": " : ":";
    append(out, members[i].value, layout, level + 1);
  }
  if (layout == Layout::pretty) {
    out += '\n';
    out.append(level * kIndent, ' ');
  }
  out += '}';
}

void append(std::string& out, const Value& value, Layout layout, std::size_t level) {
  switch (value.kind()) {
    case Value::Kind::null:
      out += "null";
      return;
    case Value::Kind::boolean:
      out += value.as_boolean() ? "true" : "false";
      return;
    case Value::Kind::integer:
      out += fmt::format("{}", value.as_integer());
      return;
    case Value::Kind::real:
      append_real(out, value.as_real());
      return;
    case Value::Kind::string:
      append_string(out, value.as_string());
      return;
    case Value::Kind::array:
      append_items(out, value.items(), layout, level);
      return;
    case Value::Kind::object:
      append_members(out, value.members(), layout, level);
      return;
  }
}

}  // namespace

std::string to_json(const Value& value, Layout layout) {
  std::string out;
  append(out, value, layout, 0);
  if (layout == Layout::pretty) out += '\n';
  return out;
}

JsonStream::JsonStream(std::ostream& out, Layout layout) : out_(out), layout_(layout) {}

JsonStream::~JsonStream() {
  try {
    flush();
  } catch (...) {
    // A stream that throws has also set its badbit, which its owner sees.
  }
}

void JsonStream::flush() {
  out_ << buffer_;
  buffer_.clear();
}

void JsonStream::new_line() {
  if (layout_ == Layout::compact) return;
  buffer_ += '\n';
  buffer_.append(levels_.size() * kIndent, ' ');
}

void JsonStream::before_value() {
  WEFT_CHECK(!done_, "a JSON text is one value");
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  WEFT_CHECK(!levels_.back().is_object, "a value in an object needs a key");
  if (!levels_.back().empty) buffer_ += ',';
  levels_.back().empty = false;
  new_line();
}

void JsonStream::token(std::string_view text) {
  before_value();
  buffer_ += text;
  done_ = levels_.empty();
  if (done_ && layout_ == Layout::pretty) buffer_ += '\n';
  if (buffer_.size() > kFlushAt) flush();
}

void JsonStream::open(char bracket) {
  before_value();
  buffer_ += bracket;
  levels_.push_back({bracket == '{', true});
}

void JsonStream::close(char bracket) {
  WEFT_CHECK(!levels_.empty() && levels_.back().is_object == (bracket == '}') && !after_key_,
             "'{}' closes nothing that is open", bracket);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  buffer_ += bracket;
  done_ = levels_.empty();
  if (done_ && layout_ == Layout::pretty) buffer_ += '\n';
  if (buffer_.size() > kFlushAt) flush();
}

JsonStream& JsonStream::begin_object() {
  return open('{'), *this;
}
JsonStream& JsonStream::end_object() {
  return close('}'), *this;
}
JsonStream& JsonStream::begin_array() {
  return open('['), *this;
}
JsonStream& JsonStream::end_array() {
  return close(']'), *this;
}

JsonStream& JsonStream::key(std::string_view key) {
  WEFT_CHECK(!levels_.empty() && levels_.back().is_object && !after_key_,
             "a key belongs into an object, before its value");
  if (!levels_.back().empty) buffer_ += ',';
  levels_.back().empty = false;
  new_line();
  append_string(buffer_, key);
  buffer_ += layout_ == Layout::pretty ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonStream& JsonStream::boolean(bool flag) {
  return token(flag ? "true" : "false"), *this;
}
JsonStream& JsonStream::integer(std::int64_t number) {
  return token(fmt::format_int(number).c_str()), *this;
}
JsonStream& JsonStream::null() {
  return token("null"), *this;
}

JsonStream& JsonStream::value(double number) {
  std::string text;
  append_real(text, number);
  return token(text), *this;
}

JsonStream& JsonStream::value(std::string_view text) {
  std::string quoted;
  append_string(quoted, text);
  return token(quoted), *this;
}

JsonStream& JsonStream::value(const Value& value) {
  std::string text;
  append(text, value, layout_, levels_.size());
  return token(text), *this;
}

}  // namespace weft::config
