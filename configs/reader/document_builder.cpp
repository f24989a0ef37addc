// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/document_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/units/quote.hpp"

namespace weft::config {
namespace {

constexpr std::size_t kLinearSearch = 16;
constexpr std::size_t kMostFindings = 10'000;

}  // namespace

std::size_t DocumentBuilder::next_token() const {
  return std::min(text_.find_first_not_of(" \t\r\n,:", last_end_), text_.size());
}

Place DocumentBuilder::begin_token() {
  const Place place = places_.at(next_token());
  last_end_ = consumed_;
  return place;
}

void DocumentBuilder::store(Value value, Place place) {
  value.place_ = place;
  if (frames_.empty()) {
    root_ = std::move(value);
    return;
  }
  Frame& frame = frames_.back();
  if (auto* items = std::get_if<Value::Array>(&frame.container.data_)) {
    items->push_back(std::move(value));
    return;
  }
  value.place_ = frame.key_place;
  frame.awaits_value = false;
  auto& members = std::get<Value::Object>(frame.container.data_);
  Member* known = find_member(frame);
  if (known == nullptr) {
    if (!frame.index.empty()) frame.index.emplace(frame.key, members.size());
    members.push_back({std::move(frame.key), std::move(value)});
  } else if (dialect_ == Dialect::tolerant) {
    known->value = std::move(value);
  }
}

Member* DocumentBuilder::find_member(Frame& frame) {
  auto& members = std::get<Value::Object>(frame.container.data_);
  if (members.size() < kLinearSearch) {
    const auto it = std::ranges::find(members, frame.key, &Member::key);
    return it == members.end() ? nullptr : &*it;
  }
  if (frame.index.empty()) {
    for (std::size_t i = 0; i < members.size(); ++i) frame.index.emplace(members[i].key, i);
  }
  const auto it = frame.index.find(frame.key);
  return it == frame.index.end() ? nullptr : &members[it->second];
}

void DocumentBuilder::add(Value value) {
  const Place place = begin_token();
  // The end of a number is only seen at the byte after it, or at the end of the text.
  const bool at_end = consumed_ == text_.size() && text_.back() >= '0' && text_.back() <= '9';
  if (value.is_number() && !at_end) --last_end_;
  store(std::move(value), place);
}

void DocumentBuilder::begin(Value container) {
  const Place place = begin_token();
  Frame frame;
  frame.container = std::move(container);
  frame.place = place;
  frames_.push_back(std::move(frame));
}

void DocumentBuilder::end() {
  begin_token();
  Value container = std::move(frames_.back().container);
  const Place place = frames_.back().place;
  frames_.pop_back();
  store(std::move(container), place);
}

void DocumentBuilder::key(std::string key) {
  const Place place = begin_token();
  Frame& frame = frames_.back();
  frame.key = std::move(key);
  frame.key_place = place;
  frame.awaits_value = true;
  const Member* known = find_member(frame);
  if (known == nullptr || findings_.size() >= kMostFindings) return;
  const Place first = known->value.place();
  findings_.push_back({name_, place.line, place.column, pointer(),
                       fmt::format("duplicate key {}", in_quotes(frame.key)),
                       fmt::format("first at line {}, column {}{}", first.line, first.column,
                                   dialect_ == Dialect::tolerant ? "; the last one counts" : "")});
}

std::string DocumentBuilder::pointer() const {
  std::string out;
  for (const Frame& frame : frames_) {
    if (frame.container.is_array()) {
      out = pointer_to(out, frame.container.items().size());
    } else if (frame.awaits_value) {
      out = pointer_to(out, frame.key);
    }
  }
  return out;
}

}  // namespace weft::config
