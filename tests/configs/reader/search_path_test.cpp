// SPDX-License-Identifier: Apache-2.0
// Names of files: who is asked first, and what is said when nobody has the file.
#include "configs/reader/search_path.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "configs/reader/document.hpp"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

class SearchPathTest : public testing::Test {
 protected:
  SearchPathTest()
      : root_(fs::path(testing::TempDir()) /
              (std::string("search_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    for (const char* folder : {"here", "one", "two", "share"})
      fs::create_directories(root_ / folder);
    search_ = {{root_ / "one", root_ / "two"}, root_ / "share"};
  }
  ~SearchPathTest() override { fs::remove_all(root_); }

  void touch(const fs::path& file) const { std::ofstream(root_ / file) << "{}"; }

  fs::path root_;
  SearchPath search_;
};

TEST_F(SearchPathTest, NamingFileComesBeforeConfigsBeforeShare) {
  const fs::path naming = root_ / "here" / "scenario.json";
  touch("share/m.json");
  EXPECT_EQ(resolve("m.json", naming, search_).file, root_ / "share/m.json");
  touch("two/m.json");
  EXPECT_EQ(resolve("m.json", naming, search_).file, root_ / "two/m.json");
  touch("one/m.json");
  EXPECT_EQ(resolve("m.json", naming, search_).file, root_ / "one/m.json");
  touch("here/m.json");
  EXPECT_EQ(resolve("m.json", naming, search_).file, root_ / "here/m.json");
}

TEST_F(SearchPathTest, FoldersAreNoFiles) {
  fs::create_directories(root_ / "here/m.json");
  touch("one/m.json");
  EXPECT_EQ(resolve("m.json", root_ / "here/x.json", search_).file, root_ / "one/m.json");
}

TEST_F(SearchPathTest, AbsoluteNamesAreTakenAsTheyAre) {
  touch("one/m.json");
  EXPECT_EQ(resolve((root_ / "one/m.json").string(), "x.json", {}).file, root_ / "one/m.json");
  EXPECT_EQ(resolve("/no/such.json", "x.json", search_).looked.size(), 1U);
}

TEST_F(SearchPathTest, FileThatIsNotThereListsWhereItLooked) {
  const Document document = Document::parse("{\"machine\": \"../m.json\"}", "configs/s/x.json");
  StrictObject root(document);
  required_file(root, {"machine", "machine file"}, {{"other/a"}, "share/weft/b"});
  try {
    root.finish();
    FAIL() << "did not throw";
  } catch (const ConfigErrors& errors) {
    EXPECT_STREQ(
        errors.what(),
        "configs/s/x.json:1:2: /machine: no file \"../m.json\" (looked for configs/m.json, "
        "other/m.json, share/weft/m.json)");
  }
}

TEST_F(SearchPathTest, FileThatMayBeMeantIsNamedAsADocumentWritesIt) {
  for (const char* folder : {"here/machines", "machines", "one/models", "share/profiles"})
    fs::create_directories(root_ / folder);
  for (const char* file : {"machines/h200x8.json", "machines/h100x8.json", "here/machines/own.json",
                           "one/models/llama3-8b.json", "share/profiles/h200-sxm.json"})
    touch(file);
  const fs::path naming = root_ / "here" / "scenario.json";
  const auto meant = [&](const char* name, const char* kind) {
    return file_meant(name, kind, naming, search_).value_or("");
  };
  EXPECT_EQ(meant("h200x8", "machines"), "../machines/h200x8.json");
  EXPECT_EQ(meant("wrong/h100x8.json", "machines"), "../machines/h100x8.json");
  EXPECT_EQ(meant("h20x8", "machines"), "../machines/h200x8.json");
  EXPECT_EQ(meant("own", "machines"), "machines/own.json");
  EXPECT_EQ(meant("llama3-8b", "models"), "models/llama3-8b.json");
  EXPECT_EQ(meant("h200-smx.json", "profiles"), "profiles/h200-sxm.json");
  EXPECT_EQ(meant("cluster", "machines"), "");
  EXPECT_EQ(meant("llama3-8b", "profiles"), "");
}

TEST_F(SearchPathTest, KeysThatNameFilesAreRead) {
  touch("one/m.json");
  const Document document = Document::parse("{\"machine\": \"m.json\"}", "x.json");
  StrictObject root(document);
  EXPECT_EQ(required_file(root, {"machine", ""}, search_), root_ / "one/m.json");
  EXPECT_EQ(optional_file(root, {"profile", ""}, search_), std::nullopt);
  root.finish();
}

}  // namespace
}  // namespace weft::config
