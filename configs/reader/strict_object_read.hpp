// SPDX-License-Identifier: Apache-2.0
// The templates of strict_object.hpp; include that.
#pragma once

#include "configs/reader/strict_object.hpp"

namespace weft::config {

template <class T>
std::optional<T> StrictObject::optional_value(Field field,
                                              const typename Codec<T>::RangeType& range,
                                              bool is_required, std::optional<Value> fallback) {
  if (describing()) {
    declare(field, is_required, std::move(fallback), Codec<T>::describe(range));
    return std::nullopt;
  }
  const Member* member = take(field, is_required);
  if (member == nullptr) return std::nullopt;
  return Codec<T>::read(spot_->member(*member), range);
}

template <class Read>
auto StrictObject::nested(Field field, bool is_required, Read& read)
    -> std::optional<std::invoke_result_t<Read&, StrictObject&>> {
  if (describing()) {
    declare(field, is_required, std::nullopt, describe(read));
    return std::nullopt;
  }
  const Member* member = take(field, is_required);
  if (member == nullptr) return std::nullopt;
  return read_object(spot_->member(*member), read);
}

template <class Read>
auto StrictObject::list(Field field, bool is_required, Read& read, const ListSize& size)
    -> std::vector<std::invoke_result_t<Read&, StrictObject&>> {
  if (describing()) {
    declare(field, is_required, std::nullopt, describe_list(size, describe(read)));
    return {};
  }
  const Member* member = take(field, is_required);
  if (member == nullptr) return {};
  const Spot spot = spot_->member(*member);
  if (!spot.value().is_array()) {
    spot.expected("an array of objects");
    return {};
  }
  check_size(spot, size);
  std::vector<std::invoke_result_t<Read&, StrictObject&>> items;
  for (std::size_t i = 0; i < spot.value().items().size(); ++i) {
    if (auto item = read_object(spot.item(i), read)) items.push_back(std::move(*item));
  }
  return items;
}

template <class Read>
auto StrictObject::map(Field field, bool is_required, Read& read)
    -> std::vector<Named<std::invoke_result_t<Read&, StrictObject&>>> {
  if (describing()) {
    declare(field, is_required, std::nullopt,
            {.type = "map", .element = {describe(read)}, .keys = {}});
    return {};
  }
  const Member* member = take(field, is_required);
  if (member == nullptr) return {};
  const Spot spot = spot_->member(*member);
  if (!spot.value().is_object()) {
    spot.expected("an object of objects");
    return {};
  }
  std::vector<Named<std::invoke_result_t<Read&, StrictObject&>>> entries;
  for (const Member& entry : spot.value().members()) {
    if (auto value = read_object(spot.member(entry), read)) {
      entries.emplace_back(entry.key, std::move(*value));
    }
  }
  return entries;
}

template <class Read>
auto read_object(const Spot& spot, Read&& read)
    -> std::optional<std::invoke_result_t<Read&, StrictObject&>> {
  if (!spot.value().is_object()) {
    spot.expected("an object");
    return std::nullopt;
  }
  StrictObject object(spot);
  auto result = read(object);
  object.close();
  return result;
}

template <class Read>
TypeDescription describe(Read&& read) {
  TypeDescription description{.type = "object", .keys = {}};
  StrictObject object(description);
  static_cast<void>(read(object));
  return description;
}

}  // namespace weft::config
