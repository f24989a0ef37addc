// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/value.hpp"

#include <algorithm>

namespace weft::config {

Value Value::array(Array items) {
  Value value;
  value.data_ = std::move(items);
  return value;
}

Value Value::object() {
  Value value;
  value.data_ = Object{};
  return value;
}

Value Value::object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value value = object();
  for (const auto& [key, member] : members) value.set(key, member);
  return value;
}

double Value::as_real() const {
  if (is_integer()) return static_cast<double>(as_integer());
  return std::get<double>(data_);
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto it = std::ranges::find(members(), key, &Member::key);
  return it == members().end() ? nullptr : &it->value;
}

Value& Value::push(Value item) {
  if (is_null()) data_ = Array{};
  std::get<Array>(data_).push_back(std::move(item));
  return *this;
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Object{};
  auto& members = std::get<Object>(data_);
  const auto it = std::ranges::find(members, key, &Member::key);
  if (it != members.end()) {
    it->value = std::move(value);
  } else {
    members.push_back({std::string(key), std::move(value)});
  }
  return *this;
}

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
      return "an integer";
    case Value::Kind::real:
      return "a number";
    case Value::Kind::string:
      return "a string";
    case Value::Kind::array:
      return "an array";
    case Value::Kind::object:
      return "an object";
  }
  return "a value";
}

}  // namespace weft::config
