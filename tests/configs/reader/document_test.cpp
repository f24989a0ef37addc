// SPDX-License-Identifier: Apache-2.0
// Documents: places, limits, duplicates, the tolerant dialect.
#include "configs/reader/document.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/located.hpp"
#include "configs/reader/strict_object.hpp"

namespace weft::config {
namespace {

std::string errors_of(std::string_view text, const ParseOptions& options = {}) {
  try {
    Document::parse(text, "x.json", options);
  } catch (const ConfigErrors& errors) {
    return errors.what();
  }
  return "no error";
}

TEST(Document, PlacesAreThoseOfKeysAndItems) {
  const Document document =
      Document::parse("{ \"a\": 1,\n  \"b\": [10,\n 20 , {\"c\"\n:null}]}", "x");
  EXPECT_EQ(document.root().place(), (Place{1, 1}));
  EXPECT_EQ(document.root().find("a")->place(), (Place{1, 3}));
  const Value& b = *document.root().find("b");
  EXPECT_EQ(b.place(), (Place{2, 3}));
  EXPECT_EQ(b.items()[0].place(), (Place{2, 9}));
  EXPECT_EQ(b.items()[1].place(), (Place{3, 2}));
  EXPECT_EQ(b.items()[2].place(), (Place{3, 7}));
  EXPECT_EQ(b.items()[2].find("c")->place(), (Place{3, 8}));
}

TEST(Document, PlaceOfItemsInCompactText) {
  const Document document = Document::parse("[1,2,[3,-4.5e1,\"s\"],true]", "x");
  const auto& items = document.root().items();
  EXPECT_EQ(items[0].place(), (Place{1, 2}));
  EXPECT_EQ(items[1].place(), (Place{1, 4}));
  EXPECT_EQ(items[2].place(), (Place{1, 6}));
  EXPECT_EQ(items[2].items()[1].place(), (Place{1, 9}));
  EXPECT_EQ(items[2].items()[2].place(), (Place{1, 16}));
  EXPECT_EQ(items[3].place(), (Place{1, 21}));
}

TEST(Document, ColumnsCountCharactersNotBytes) {
  const Document document = Document::parse("{\"µ\": \"äöü\", \"k\": 1}", "x");
  EXPECT_EQ(document.root().find("k")->place(), (Place{1, 14}));
}

TEST(Document, FirstLineCanBeFurtherDown) {
  EXPECT_EQ(errors_of("{\"a\": }", {.first_line = 7}),
            "x.json:7:7: /a: unexpected '}', expected a value");
}

TEST(Document, IntegersAreExactAndLargerOnesAreReal) {
  const Document document =
      Document::parse("[9223372036854775807, -9223372036854775808, 9223372036854775808]", "x");
  EXPECT_EQ(document.root().items()[0].as_integer(), INT64_MAX);
  EXPECT_EQ(document.root().items()[1].as_integer(), INT64_MIN);
  EXPECT_EQ(document.root().items()[2].as_real(), 9223372036854775808.0);
}

TEST(Document, HundredMegabytesOfNestingIsOneCleanError) {
  for (const std::string unit : {"[", "{\"a\":"}) {
    std::string text = unit;
    while (text.size() < 100'000'000) text += text;
    const ParseOptions large{.max_size = Bytes::from(200'000'000)};
    EXPECT_THAT(errors_of(text), testing::EndsWith("nested deeper than 128 levels"));
    EXPECT_THAT(errors_of(text, large), testing::EndsWith("nested deeper than 128 levels"));
  }
}

TEST(Document, HundredMegabytesOfNestingInAFileIsOneCleanError) {
  const std::string file = testing::TempDir() + "nested.json";
  std::ofstream(file) << std::string(100'000'000, '[');
  try {
    Document::load(file);
    FAIL() << "did not throw";
  } catch (const ConfigErrors& errors) {
    EXPECT_EQ(std::string(errors.what()), file + ":1:129: nested deeper than 128 levels");
  }
  std::filesystem::remove(file);
}

TEST(Document, DeepestAllowedNestingIsRead) {
  const std::string text = std::string(128, '[') + std::string(128, ']');
  EXPECT_EQ(errors_of(text), "no error");
  EXPECT_EQ(errors_of("[" + text + "]"), "x.json:1:129: nested deeper than 128 levels");
  EXPECT_EQ(errors_of("\"[[[[[\\\"[[[[\"", {.max_depth = 2}), "no error");
}

TEST(Document, SizeIsBounded) {
  EXPECT_EQ(errors_of("[1, 2, 3]", {.max_size = Bytes::from(8)}),
            "x.json: the file is larger than 8 B");
  EXPECT_EQ(errors_of("[1, 2, 3]", {.max_size = Bytes::from(9)}), "no error");
}

TEST(Document, FilesThatCannotBeReadAreErrorsOfTheWholeFile) {
  const auto what = [](const std::string& file) -> std::string {
    try {
      Document::load(file);
    } catch (const ConfigErrors& errors) {
      EXPECT_EQ(errors.errors()[0].line, 0U);
      return errors.what();
    }
    return "no error";
  };
  EXPECT_EQ(what("configs/no-such.json"),
            "configs/no-such.json: cannot open the file: No such file or directory");
  EXPECT_EQ(what("configs"), "configs: this is a folder");
}

TEST(Document, DuplicateKeysAreAllFoundWithBothPlaces) {
  const Document document =
      Document::parse("{\"a\": 1,\n \"b\": {\"c\": 2, \"c\": 3},\n \"a\": 4}", "x.json");
  ASSERT_EQ(document.findings().size(), 2U);
  EXPECT_EQ(to_string(document.findings()[0]),
            "x.json:2:16: /b/c: duplicate key \"c\" (first at line 2, column 8)");
  EXPECT_EQ(to_string(document.findings()[1]),
            "x.json:3:2: /a: duplicate key \"a\" (first at line 1, column 2)");
  EXPECT_EQ(document.root().find("a")->as_integer(), 1);
}

TEST(Document, DuplicateKeysAreFoundInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"k" + std::to_string(i) + "\": 0, ";
  text += "\"k7\": 1, \"k999\": 2}";
  const Document document = Document::parse(text, "x.json");
  EXPECT_EQ(document.findings().size(), 2U);
  EXPECT_EQ(document.root().members().size(), 1000U);
}

TEST(Document, TolerantDialectTakesTheLastDuplicateAndSkipsTheByteOrderMark) {
  const Document document =
      Document::parse("\xEF\xBB\xBF{\"a\": 1, \"a\": 2, \"n\": null, \"u\": 3}", "x.json",
                      {.dialect = Dialect::tolerant});
  StrictObject root(document);
  EXPECT_EQ(root.required<int>({"a", ""}), 2);
  EXPECT_EQ(root.optional<int>({"n", ""}), std::nullopt);
  root.finish();
  std::vector<std::string> notes;
  for (const ConfigError& note : root.notes()) notes.push_back(to_string(note));
  EXPECT_THAT(notes, testing::ElementsAre("x.json:1:1: byte order mark is ignored",
                                          "x.json:1:10: /a: duplicate key \"a\" (first at line 1, "
                                          "column 2; the last one counts)",
                                          "x.json:1:29: /u: key is ignored"));
}

TEST(Located, FindsWhatThePointerMeansOrWhatIsAroundIt) {
  const std::string file = testing::TempDir() + "weft_located.json";
  std::ofstream(file) << "{\"a\": 1,\n \"b/c\": {\"list\": [5,\n   6]}}";
  const auto place = [&](const std::string& pointer) {
    const ConfigError error = located({file, 0, 0, pointer, "wrong", ""});
    return std::pair(error.line, error.column);
  };
  EXPECT_EQ(place("/a"), std::pair(1U, 2U));
  EXPECT_EQ(place("/b~1c"), std::pair(2U, 2U));
  EXPECT_EQ(place("/b~1c/list/1"), std::pair(3U, 4U));
  EXPECT_EQ(place("/b~1c/missing/0"), std::pair(2U, 2U)) << "the object that lacks it";
  const ConfigError known{file, 7, 8, "/a", "wrong", ""};
  EXPECT_EQ(located(known), known);
  const ConfigError gone{"no_such.json", 0, 0, "/a", "wrong", ""};
  EXPECT_EQ(located(gone), gone);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weft::config
