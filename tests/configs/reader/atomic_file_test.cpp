// SPDX-License-Identifier: Apache-2.0
// A file is there whole or as it was.
#include "configs/reader/atomic_file.hpp"

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/json_writer.hpp"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public testing::Test {
 protected:
  AtomicFile()
      : folder_(fs::path(testing::TempDir()) /
                (std::string("atomic_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~AtomicFile() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(AtomicFile, WritesAndReplacesAndLeavesNothingElse) {
  write_file(folder_ / "a.json", "one");
  EXPECT_EQ(content(folder_ / "a.json"), "one");
  write_file(folder_ / "a.json", std::string(300'000, 'x'));
  EXPECT_EQ(content(folder_ / "a.json"), std::string(300'000, 'x'));
  EXPECT_EQ(count(), 1U);
}

TEST_F(AtomicFile, KeepsTheModeOfTheFileItReplaces) {
  write_file(folder_ / "a.json", "one");
  fs::permissions(folder_ / "a.json", fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder_ / "a.json", "two");
  EXPECT_EQ(fs::status(folder_ / "a.json").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFile, WriterThatThrowsLeavesTheOldFile) {
  write_file(folder_ / "a.json", "old");
  const auto half = [](std::ostream& out) {
    out << std::string(200'000, 'y');
    throw std::runtime_error("half way");
  };
  EXPECT_THROW(write_file(folder_ / "a.json", half), std::runtime_error);
  EXPECT_EQ(content(folder_ / "a.json"), "old");
  EXPECT_THROW(write_file(folder_ / "b.json", half), std::runtime_error);
  EXPECT_EQ(count(), 1U);
}

TEST_F(AtomicFile, FolderThatIsNotThereIsAnErrorThatNamesTheFile) {
  try {
    write_file(folder_ / "no" / "a.json", "x");
    FAIL() << "did not throw";
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr((folder_ / "no" / "a.json").string()));
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
  EXPECT_THROW(write_file(folder_, "x"), std::system_error);
}

TEST_F(AtomicFile, SymbolicLinkStaysAndItsTargetIsReplaced) {
  write_file(folder_ / "target", "one");
  fs::create_symlink("target", folder_ / "link");
  write_file(folder_ / "link", "two");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "target"), "two");
}

TEST_F(AtomicFile, DevicesAreWrittenThrough) {
  write_file("/dev/null", "x");
}

TEST_F(AtomicFile, FullDeviceIsAnError) {
  EXPECT_THROW(write_file("/dev/full", "x"), std::system_error);
  const auto large = [](std::ostream& out) { JsonStream(out).value(std::string(300'000, 'x')); };
  EXPECT_THROW(write_file("/dev/full", large), std::system_error);
}

}  // namespace
}  // namespace weft::config
