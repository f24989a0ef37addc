// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/fingerprint.hpp"

#include <algorithm>
#include <cstdint>

#include "configs/reader/json_writer.hpp"

namespace weft::config {
namespace {

Value sorted(const Value& value) {
  if (value.is_array()) {
    Value::Array items;
    for (const Value& item : value.items()) items.push_back(sorted(item));
    return Value::array(std::move(items));
  }
  if (!value.is_object()) return value;
  std::vector<const Member*> members;
  for (const Member& member : value.members()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const Member* a, const Member* b) { return a->key < b->key; });
  Value object = Value::object();
  for (const Member* member : members) object.set(member->key, sorted(member->value));
  return object;
}

}  // namespace

std::string fingerprint(std::string_view text) {
  // Offset basis and prime of FNV-1a's definition.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  std::string digits(16, '0');
  for (std::size_t i = 0; i < digits.size(); ++i)
    digits[i] = "0123456789abcdef"[(hash >> (60 - 4 * i)) & 0xfU];
  return digits;
}

std::string fingerprint(const Value& value) {
  return fingerprint(std::string_view(to_json(sorted(value), Layout::compact)));
}

}  // namespace weft::config
