// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/strict_object.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"

namespace weft::config {
namespace {

// An object with more unread keys than this is not what it is taken for; looking for near names costs time.
constexpr std::size_t kMostUnread = 1000;

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

StrictObject::StrictObject(const Document& document)
    : own_reading_(std::make_unique<Reading>()), reading_(own_reading_.get()) {
  reading_->file = document.name();
  reading_->dialect = document.dialect();
  (document.dialect() == Dialect::strict ? reading_->errors : reading_->notes) =
      document.findings();
  own_root_.emplace(*reading_, document.root());
  if (document.root().is_object()) {
    spot_ = &*own_root_;
  } else {
    own_root_->expected("an object");
  }
}

StrictObject::StrictObject(const Spot& spot) : reading_(&spot.reading()), spot_(&spot) {}

StrictObject::StrictObject(TypeDescription& description)
    : own_reading_(std::make_unique<Reading>()),
      reading_(own_reading_.get()),
      description_(&description) {}

StrictObject::~StrictObject() = default;

void StrictObject::schema(std::string_view name, std::string_view doc) {
  const Field field{"schema", doc};
  if (describing()) {
    declare(field, true, std::nullopt,
            {.type = "choice", .choices = {std::string(name)}, .keys = {}});
    return;
  }
  const Member* member = take(field, true);
  if (member == nullptr) return;
  const Spot spot = spot_->member(*member);
  if (spot.value() == Value(name)) return;
  if (!spot.value().is_string()) {
    spot.expected("a string", fmt::format("write \"schema\": \"{}\"", name));
    return;
  }
  const Origin origin = spot.origin();
  throw ConfigErrors(
      ConfigError{reading_->file, origin.place.line, origin.place.column, origin.json_pointer,
                  fmt::format("unknown schema {}", in_quotes(spot.value().as_string())),
                  fmt::format("this must be \"{}\", {}", name, doc)});
}

const Value* StrictObject::any(Field field, bool is_required) {
  if (describing()) {
    declare(field, is_required, std::nullopt, {.type = "any", .keys = {}});
    return nullptr;
  }
  const Member* member = take(field, is_required);
  return member == nullptr ? nullptr : &member->value;
}

void StrictObject::one_of(Field field, const std::vector<Alternative>& alternatives) {
  std::vector<std::string_view> names;
  for (const Alternative& alternative : alternatives) names.push_back(alternative.name);
  if (describing()) {
    declare(field, true, std::nullopt,
            {.type = "choice",
             .choices = std::vector<std::string>(names.begin(), names.end()),
             .keys = {}});
    const std::string outer = when_;
    for (const Alternative& alternative : alternatives) {
      when_ =
          fmt::format("{}{} = {}", outer.empty() ? "" : outer + ", ", field.name, alternative.name);
      alternative.read(*this);
    }
    when_ = outer;
    return;
  }
  const Member* member = take(field, true);
  if (member == nullptr) return;
  const auto chosen = detail::read_choice(spot_->member(*member), names);
  if (chosen) {
    alternatives[*chosen].read(*this);
  } else {
    // Which keys belong here is unknown: do not blame them.
    was_read_.assign(was_read_.size(), true);
  }
}

void StrictObject::exactly_one(std::initializer_list<std::string_view> keys) {
  if (spot_ == nullptr) return;
  std::vector<std::string_view> present;
  for (const std::string_view key : keys) {
    if (has(key)) present.push_back(key);
  }
  if (present.size() == 1) return;
  const std::string list = fmt::format("\"{}\"", fmt::join(keys, "\", \""));
  if (present.empty()) {
    error(fmt::format("none of {} is given", list), "give exactly one of them");
  } else {
    error(present[1], fmt::format("only one of {} may be given", list),
          fmt::format("\"{}\" is given too", present[0]));
  }
}

bool StrictObject::has(std::string_view key) const {
  return spot_ != nullptr && spot_->value().find(key) != nullptr;
}

Origin StrictObject::origin() const {
  return spot_ == nullptr ? Origin{} : spot_->origin();
}

Origin StrictObject::origin(std::string_view key) const {
  Origin here = origin();
  if (spot_ == nullptr) return here;
  if (const Value* value = spot_->value().find(key)) {
    return {value->place(), pointer_to(here.json_pointer, key)};
  }
  return here;
}

void StrictObject::error(std::string_view key, std::string message, std::string hint) {
  error(origin(key), std::move(message), std::move(hint));
}
void StrictObject::error(std::string message, std::string hint) {
  error(origin(), std::move(message), std::move(hint));
}
void StrictObject::error(const Origin& origin, std::string message, std::string hint) {
  if (describing()) return;
  reading_->add_error(origin, std::move(message), std::move(hint));
}

bool StrictObject::good() const {
  return reading_->errors.empty();
}

const Member* StrictObject::take(Field field, bool is_required) {
  if (spot_ == nullptr) return nullptr;
  if (was_read_.empty()) was_read_.resize(spot_->value().members().size());
  if (std::ranges::find(known_, field.name) == known_.end()) known_.emplace_back(field.name);
  const auto& members = spot_->value().members();
  const auto it = std::ranges::find(members, field.name, &Member::key);
  const bool null_is_absent = reading_->dialect == Dialect::tolerant;
  if (it != members.end()) was_read_[static_cast<std::size_t>(it - members.begin())] = true;
  if (it == members.end() || (null_is_absent && it->value.is_null())) {
    if (is_required) error(fmt::format("missing key \"{}\"", field.name), std::string(field.doc));
    return nullptr;
  }
  return &*it;
}

void StrictObject::declare(Field field, bool is_required, std::optional<Value> fallback,
                           TypeDescription type) {
  description_->keys.push_back({std::string(field.name), std::string(field.doc), is_required,
                                std::move(fallback), when_, std::move(type)});
}

void StrictObject::check_size(const Spot& spot, const ListSize& size) const {
  const std::size_t n = spot.value().items().size();
  if (size.contains(n)) return;
  spot.error(fmt::format("{} {}", n, n == 1 ? "item is out of range" : "items are out of range"),
             describe_list(size, {}).range);
}

TypeDescription StrictObject::describe_list(const ListSize& size, TypeDescription element) {
  TypeDescription description{.type = "array", .element = {std::move(element)}, .keys = {}};
  const std::string range = Codec<std::size_t>::describe(size).range;
  if (size.least || size.most) description.range = range + " items";
  return description;
}

void StrictObject::close() {
  if (spot_ == nullptr) return;
  const auto& members = spot_->value().members();
  was_read_.resize(members.size());
  std::size_t unread = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (was_read_[i]) continue;
    if (++unread > kMostUnread) break;
    const Spot spot = spot_->member(members[i]);
    if (reading_->dialect == Dialect::tolerant) {
      const Origin origin = spot.origin();
      reading_->notes.push_back({reading_->file,
                                 origin.place.line,
                                 origin.place.column,
                                 origin.json_pointer,
                                 "key is ignored",
                                 {}});
      continue;
    }
    const auto nearest = nearest_name(members[i].key, views(known_));
    std::string hint;
    if (nearest) {
      hint = fmt::format("did you mean \"{}\"?", *nearest);
    } else if (!known_.empty()) {
      hint = fmt::format("known keys: {}", fmt::join(known_, ", "));
    }
    spot.error(fmt::format("unknown key {}", in_quotes(members[i].key)), std::move(hint));
  }
}

void StrictObject::finish() {
  if (describing()) return;
  close();
  std::ranges::stable_sort(reading_->notes, {}, [](const ConfigError& note) {
    return std::pair(note.line, note.column);
  });
  if (!reading_->errors.empty()) throw ConfigErrors(reading_->errors);
}

const std::vector<ConfigError>& StrictObject::notes() const {
  return reading_->notes;
}
const std::vector<SourcedUse>& StrictObject::sources() const {
  return reading_->sources;
}

}  // namespace weft::config
