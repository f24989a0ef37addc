// SPDX-License-Identifier: Apache-2.0
// A JSON value of our own, so that nobody needs a JSON library in a header: what a document holds
// and what a program writes. Object members keep their order; integers are exact 64-bit numbers.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/units/integer.hpp"

namespace weft::config {

/// Where something stands in a file: line and column count from 1 (columns in characters); line 0
/// is nowhere.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

class Value;
struct Member;

/// null, a boolean, an integer, a real number, text, an array or an object.
class Value {
 public:
  enum class Kind { null, boolean, integer, real, string, array, object };
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;

  // Nothing that needs Member whole is defined in the class: Member holds a Value.
  Value();
  Value(std::nullptr_t);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <std::same_as<bool> T>
  Value(T flag);
  /// Throws std::overflow_error if the integer does not fit 64 bits with a sign.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T number);
  template <std::floating_point T>
  Value(T number);
  Value(std::string text);
  Value(std::string_view text);
  Value(const char* text);

  /// Makes an array of the given items.
  static Value array(Array items = {});
  /// Makes an object of the given members, in this order.
  static Value object();
  static Value object(std::initializer_list<std::pair<std::string_view, Value>> members);

  /// Returns which of the seven kinds this is.
  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_integer() const { return kind() == Kind::integer; }
  bool is_number() const { return kind() == Kind::integer || kind() == Kind::real; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }

  // Each of these throws std::bad_variant_access if the value is of another kind.
  bool as_boolean() const { return std::get<bool>(data_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(data_); }
  /// Returns an integer or a real number as a real number.
  double as_real() const;
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const Array& items() const { return std::get<Array>(data_); }
  const Object& members() const { return std::get<Object>(data_); }

  /// Returns the object's member of this name, or nullptr (also if this is no object).
  const Value* find(std::string_view key) const;

  /// Appends an item to an array (null becomes an array) and returns *this.
  Value& push(Value item);
  /// Appends or replaces a member of an object (null becomes an object) and returns *this.
  Value& set(std::string_view key, Value value);

  /// Returns where the value was read: at its key in an object, at its first character elsewhere.
  Place place() const { return place_; }
  void set_place(Place place) { place_ = place; }

  /// Compares the data; places do not count, the order of members does.
  friend bool operator==(const Value& a, const Value& b);

 private:
  friend class DocumentBuilder;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
  Place place_;
};

/// One `"key": value` of an object.
struct Member {
  std::string key;
  Value value;
  friend bool operator==(const Member&, const Member&) = default;
};

inline Value::Value() = default;
inline Value::Value(std::nullptr_t) {}
inline Value::Value(const Value& other) = default;
inline Value::Value(Value&& other) noexcept = default;
inline Value& Value::operator=(const Value& other) = default;
inline Value& Value::operator=(Value&& other) noexcept = default;
inline Value::~Value() = default;
template <std::same_as<bool> T>
Value::Value(T flag) : data_(flag) {}
template <std::integral T>
requires(!std::same_as<T, bool>) Value::Value(T number) : data_(narrow(Int128{number})) {}
template <std::floating_point T>
Value::Value(T number) : data_(static_cast<double>(number)) {}
inline Value::Value(std::string text) : data_(std::move(text)) {}
inline Value::Value(std::string_view text) : data_(std::string(text)) {}
inline Value::Value(const char* text) : data_(std::string(text)) {}
inline bool operator==(const Value& a, const Value& b) {
  return a.data_ == b.data_;
}

/// Returns "null", "a boolean", "an integer", "a number", "a string", "an array" or "an object".
std::string_view kind_name(Value::Kind kind);

}  // namespace weft::config
