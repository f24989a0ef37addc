// SPDX-License-Identifier: Apache-2.0
// Tables of wrong files and the exact text that a user reads for each.
#pragma once

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "models/planner/read_scenario.hpp"

namespace weft::model::bad_input {

using config::Document;

inline std::string what(const std::function<void()>& read) {
  try {
    read();
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "no error";
}

struct Row {
  std::string_view name;
  std::string text;
  std::string message;
};

inline std::string scenario_error(const std::string& text) {
  return what(
      [&] { static_cast<void>(read_scenario(Document::parse(text, "configs/scenarios/s.json"))); });
}

inline void expect(const std::vector<Row>& table,
                   const std::function<std::string(const std::string&)>& error) {
  for (const Row& row : table) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(error(row.text), row.message);
  }
}

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Changes = std::vector<std::pair<std::string, std::string>>;

// A shipped file with the first of each piece of text replaced.
inline std::string changed(const std::string& file, const Changes& changes) {
  std::string text = text_of(file);
  for (const auto& [from, to] : changes) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace weft::model::bad_input
