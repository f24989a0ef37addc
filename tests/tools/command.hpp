// SPDX-License-Identifier: Apache-2.0
// What tests of the program share: a folder of their own, and the program run as a shell runs it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "configs/reader/document.hpp"

namespace weft::tool {

/// Looks up the shipped files, for scenarios outside of the tree.
constexpr const char* kConfigs = "--configs configs ";

std::string text_of(const std::filesystem::path& file);
std::vector<std::string> keys_of(const config::Value& object);
/// The value of that key; a failure of the test if there is none.
const config::Value& at(const config::Value& object, const std::string& key);

struct Ran {
  int code = -1;  ///< of the process; -1 if it did not exit
  std::string out;
  std::string err;
};

class Command : public testing::Test {
 protected:
  Command();
  ~Command() override;

  /// Arguments as a shell takes them; files of the test's own folder are under $T.
  Ran weft(const std::string& arguments) const;
  /// $WEFT is the program.
  Ran shell(const std::string& command) const;
  void write(const std::string& name, const std::string& text) const;
  std::set<std::string> files() const;
  /// s.json: a boundary that is planned at once.
  void write_boundary(const std::string& members = "") const;

  std::filesystem::path folder_;
};

}  // namespace weft::tool
