// SPDX-License-Identifier: Apache-2.0
// JSON out: exact text, and whatever is written reads back equal.
#include "configs/reader/json_writer.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "sim/units/check.hpp"

namespace weft::config {
namespace {

TEST(JsonWriter, KeepsTheOrderOfMembersAndExactIntegers) {
  Value value;
  value.set("z", INT64_MIN).set("a", INT64_MAX).set("m", 0.1).set("t", "x");
  EXPECT_EQ(to_json(value, Layout::compact),
            "{\"z\":-9223372036854775808,\"a\":9223372036854775807,\"m\":0.1,\"t\":\"x\"}");
}

TEST(JsonWriter, PrettyTextIsForReading) {
  const Value value =
      Value::object({{"list", Value::array({1, 2, 3})},
                     {"objects", Value::array({Value::object({{"a", nullptr}}), Value::object()})},
                     {"empty", Value::array()},
                     {"flag", true}});
  EXPECT_EQ(to_json(value), R"({
  "list": [1, 2, 3],
  "objects": [
    {
      "a": null
    },
    {}
  ],
  "empty": [],
  "flag": true
}
)");
}

TEST(JsonWriter, LongArraysTakeALineForEachItem) {
  Value value = Value::array();
  for (int i = 0; i < 40; ++i) value.push(1000 + i);
  const std::string text = to_json(value);
  EXPECT_EQ(text.substr(0, 16), "[\n  1000,\n  1001");
  EXPECT_EQ(Document::parse(text, "x").root(), value);
}

TEST(JsonWriter, RealNumbersStayRealAndReadBackTheSame) {
  EXPECT_EQ(to_json(1.0, Layout::compact), "1.0");
  EXPECT_EQ(to_json(1e300, Layout::compact), "1e+300");
  EXPECT_EQ(to_json(-0.0, Layout::compact), "-0.0");
  EXPECT_EQ(Document::parse("1.0", "x").root().kind(), Value::Kind::real);
}

TEST(JsonWriter, InfinityAndNaNAreTheCallersMistake) {
  EXPECT_THROW(to_json(std::nan("")), CheckFailure);
  EXPECT_THROW(to_json(std::numeric_limits<double>::infinity()), CheckFailure);
}

TEST(JsonWriter, EscapesAndMendsText) {
  EXPECT_EQ(to_json("a\"b\\c\n\t\x01\x7F µ", Layout::compact),
            "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f µ\"");
  EXPECT_EQ(to_json("x\xFFy\xC3", Layout::compact), "\"x\uFFFDy\uFFFD\"");
  EXPECT_EQ(to_json("\xED\xA0\x80", Layout::compact), "\"\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(to_json("𝄞", Layout::compact), "\"𝄞\"");
}

TEST(JsonStream, WritesWhatToJsonWrites) {
  for (const Layout layout : {Layout::compact, Layout::pretty}) {
    std::ostringstream out;
    {
      JsonStream json(out, layout);
      json.begin_object().member("a", 1).member("t", "x").key("l").begin_array();
      json.begin_object().end_object().value(true).null().value(2.5).end_array();
      json.member("u", std::uint32_t{7}).key("v").value(Value::array({1})).end_object();
    }
    const Value same = Value::object({{"a", 1},
                                      {"t", "x"},
                                      {"l", Value::array({Value::object(), true, nullptr, 2.5})},
                                      {"u", 7},
                                      {"v", Value::array({1})}});
    EXPECT_EQ(out.str(), to_json(same, layout));
  }
}

TEST(JsonStream, CallsOutOfPlaceAreTheCallersMistake) {
  std::ostringstream out;
  JsonStream json(out);
  EXPECT_THROW(json.key("a"), CheckFailure);
  json.begin_object();
  EXPECT_THROW(json.value(1), CheckFailure);
  EXPECT_THROW(json.end_array(), CheckFailure);
  json.key("a");
  EXPECT_THROW(json.key("b"), CheckFailure);
  EXPECT_THROW(json.end_object(), CheckFailure);
  json.value(1).end_object();
  EXPECT_THROW(json.value(1), CheckFailure);
}

// Draws values of every kind, with text full of what needs care.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  Value value(int depth) {
    switch (random_() % (depth > 0 ? 8 : 5)) {
      case 0:
        return nullptr;
      case 1:
        return random_() % 2 == 0;
      case 2:
        return static_cast<std::int64_t>(random_() >> (random_() % 64)) *
               (random_() % 2 == 0 ? 1 : -1);
      case 3:
        return real();
      case 4:
        return text();
      case 5:
      case 6: {
        Value array = Value::array();
        for (std::uint64_t n = random_() % 5; n > 0; --n) array.push(value(depth - 1));
        return array;
      }
      default: {
        Value object = Value::object();
        for (std::uint64_t n = random_() % 25; n > 0; --n) object.set(text(), value(depth - 1));
        return object;
      }
    }
  }

 private:
  double real() {
    for (;;) {
      const std::uint64_t bits = random_();
      double number = 0;
      static_assert(sizeof bits == sizeof number);
      std::memcpy(&number, &bits, sizeof number);
      if (std::isfinite(number)) return number;
    }
  }
  std::string text() {
    static constexpr std::string_view kPieces[] = {"a",  "/",    "~",  "\"", "\\", "\n",
                                                   "\t", "\x01", "µ",  "𝄞",  ":",  ",",
                                                   "[",  "{",    "//", " ",  "0",  "\x7F"};
    std::string out;
    for (std::uint64_t n = random_() % 8; n > 0; --n) {
      out += kPieces[random_() % std::size(kPieces)];
    }
    return out;
  }

  std::mt19937_64 random_;
};

TEST(JsonWriter, AnyValueRoundTripsInBothLayouts) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Value value = Draw(seed).value(4);
    ASSERT_EQ(Document::parse(to_json(value), "pretty").root(), value);
    ASSERT_EQ(Document::parse(to_json(value, Layout::compact), "compact").root(), value);
  }
}

// The place of every member is the quote that opens its key, in whatever layout.
void expect_places(const Value& value, const std::vector<std::string>& lines) {
  if (value.is_array()) {
    for (const Value& item : value.items()) expect_places(item, lines);
  }
  if (!value.is_object()) return;
  for (const Member& member : value.members()) {
    const std::string& line = lines.at(member.value.place().line - 1);
    std::size_t at = 0;
    for (std::uint32_t column = 1; column < member.value.place().column; ++column) {
      do {
        ++at;
      } while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U);
    }
    const std::string key = to_json(member.key, Layout::compact);
    ASSERT_EQ(line.substr(at, key.size()), key);
    expect_places(member.value, lines);
  }
}

TEST(Document, PlaceOfEveryMemberIsItsKey) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const Value value = Draw(seed).value(4);
    for (const Layout layout : {Layout::compact, Layout::pretty}) {
      const std::string text = to_json(value, layout);
      std::vector<std::string> lines;
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) lines.push_back(line);
      expect_places(Document::parse(text, "x").root(), lines);
    }
  }
}

}  // namespace
}  // namespace weft::config
