// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/command.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::tool {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> keys_of(const config::Value& object) {
  std::vector<std::string> keys;
  for (const config::Member& member : object.members()) keys.push_back(member.key);
  return keys;
}

const config::Value& at(const config::Value& object, const std::string& key) {
  for (const config::Member& member : object.members()) {
    if (member.key == key) return member.value;
  }
  ADD_FAILURE() << "no key " << key;
  return object;
}

Command::Command() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  folder_ = fs::path(testing::TempDir()) /
            (std::string("weft_command_") + test->name() + "_" + std::to_string(getpid()));
  fs::remove_all(folder_);
  fs::create_directories(folder_);
}

Command::~Command() {
  fs::remove_all(folder_);
}

Ran Command::weft(const std::string& arguments) const {
  return shell("$WEFT " + arguments);
}

Ran Command::shell(const std::string& command) const {
  const fs::path out = folder_ / ".out", err = folder_ / ".err";
  const std::string line = "WEFT='" WEFT_PROGRAM "' T='" + folder_.string() + "'; " + command +
                           " >'" + out.string() + "' 2>'" + err.string() + "' </dev/null";
  const int status = std::system(line.c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
  fs::remove(out);
  fs::remove(err);
  return ran;
}

void Command::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name) << text;
}

std::set<std::string> Command::files() const {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
  return names;
}

void Command::write_boundary(const std::string& members) const {
  write(
      "s.json",
      R"({"schema": "weft.scenario/1", "name": "small", "boundary": {"operator": "gemm_rs", "M": 4096, "N": 4096,
              "K": 4096, "ranks": 2, "machine": "machines/h200x8.json", "schedule": "chunked",
              "knobs": {"chunks": 2}})" +
          members + "}");
}

}  // namespace weft::tool
