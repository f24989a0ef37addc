// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/spot.hpp"

#include <utility>

#include <fmt/format.h>

namespace weft::config {

void Reading::add_error(const Origin& origin, std::string message, std::string hint) {
  // A file with more errors than this is not the kind of file it is taken for.
  constexpr std::size_t kMostErrors = 10'000;
  if (errors.size() >= kMostErrors) return;
  errors.push_back({file, origin.place.line, origin.place.column, origin.json_pointer,
                    std::move(message), std::move(hint)});
}

Spot Spot::item(std::size_t index) const {
  return {*this, value_->items()[index], nullptr, index};
}

Spot Spot::member(const Member& member) const {
  return {*this, member.value, &member.key, 0};
}

std::string Spot::pointer() const {
  if (parent_ == nullptr) return {};
  const std::string parent = parent_->pointer();
  return key_ != nullptr ? pointer_to(parent, *key_) : pointer_to(parent, index_);
}

Origin Spot::origin() const {
  return {value_->place(), pointer()};
}

void Spot::error(std::string message, std::string hint) const {
  reading_->add_error(origin(), std::move(message), std::move(hint));
}

void Spot::expected(std::string_view what, std::string hint) const {
  error(fmt::format("expected {}, not {}", what, kind_name(value_->kind())), std::move(hint));
}

}  // namespace weft::config
