// SPDX-License-Identifier: Apache-2.0
// The documents tell the truth: every `$ weft ...` in a ```console block is run as it stands, in a
// directory that has configs/, and returns and prints what the document says.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/house/console_block.hpp"
#include "tests/house/tree.hpp"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code;
  std::vector<std::string> lines;
};

/// Runs a shell command in a directory with the built program first on the path.
Outcome run(const std::string& command, const fs::path& directory) {
  const fs::path program(WEFT_PROGRAM);
  const std::string script = "cd '" + directory.string() + "' && PATH='" +
                             program.parent_path().string() +
                             "':\"$PATH\" && exec 2>&1 </dev/null; " + command;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(script.c_str(), "r"), pclose);
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) {
    text.append(buffer, n);
  }
  const int status = pclose(pipe.release());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), {}};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) outcome.lines.push_back(line);
  return outcome;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += "  | " + line + "\n";
  return text;
}

std::vector<SourceFile> documents() {
  std::vector<SourceFile> found;
  for (const auto& file : source_tree()) {
    if (file.path.extension() == ".md" && !examples_of(file).empty()) found.push_back(file);
  }
  return found;
}

class Documents : public testing::TestWithParam<SourceFile> {};

TEST_P(Documents, ShowWhatTheProgramDoes) {
  // Of this process alone: two trees may be tested at once.
  const fs::path directory =
      fs::path(testing::TempDir()) /
      ("weft-examples-" + GetParam().path.stem().string() + "-" + std::to_string(::getpid()));
  fs::remove_all(directory);
  fs::create_directories(directory);
  fs::create_directory_symlink(fs::absolute("configs"), directory / "configs");
  for (const auto& example : examples_of(GetParam())) {
    const Outcome outcome = run(example.command, directory);
    EXPECT_EQ(outcome.exit_code, example.exit_code)
        << example.place << ": " << example.command << "\n"
        << joined(outcome.lines);
    if (!example.expected.empty()) {
      EXPECT_TRUE(output_matches(example.expected, outcome.lines))
          << example.place << ": " << example.command << "\nthe document says\n"
          << joined(example.expected) << "the program printed\n"
          << joined(outcome.lines);
    }
  }
  fs::remove_all(directory);
}

std::string name_of(const testing::TestParamInfo<SourceFile>& info) {
  std::string name = info.param.path.generic_string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Examples, Documents, testing::ValuesIn(documents()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Documents);

TEST(ConsoleBlock, CommandsAndTheirOutputAreFound) {
  const SourceFile document{
      "a.md",
      {"text", "```console exit=2", "$ weft plan \\", "  x.json", "one", "...", "$ ls", "skipped",
       "$ weft version", "```", "$ weft not-in-a-block"}};
  const auto examples = examples_of(document);
  ASSERT_EQ(examples.size(), 2U);
  EXPECT_EQ(examples[0].place, "a.md:3");
  EXPECT_EQ(examples[0].command, "weft plan    x.json");
  EXPECT_EQ(examples[0].exit_code, 2);
  EXPECT_EQ(examples[0].expected, (std::vector<std::string>{"one", "..."}));
  EXPECT_EQ(examples[1].command, "weft version");
  EXPECT_TRUE(examples[1].expected.empty());
}

TEST(ConsoleBlock, DotsStandForAnything) {
  EXPECT_TRUE(output_matches({"a", "...", "d"}, {"a", "b", "c", "d"}));
  EXPECT_TRUE(output_matches({"a", "..."}, {"a"}));
  EXPECT_FALSE(output_matches({"a", "...", "d"}, {"a", "b"}));
  EXPECT_FALSE(output_matches({"a"}, {"a", "b"}));
  EXPECT_TRUE(line_matches("took ... ms", "took 12.5 ms"));
  EXPECT_FALSE(line_matches("took ... ms", "took 12.5 s"));
  EXPECT_TRUE(line_matches("exact", "exact"));
  EXPECT_FALSE(line_matches("exact", "exactly"));
}

}  // namespace
}  // namespace weft::house
