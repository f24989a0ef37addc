// SPDX-License-Identifier: Apache-2.0
// What a user reads for each way to get a file wrong: the exact text.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/configs/reader/example.hpp"

namespace weft::config {
namespace {

struct Case {
  std::string_view name;
  std::string text;
  std::string_view message;
};

std::string what(std::string_view text) {
  try {
    example::read(Document::parse(text, "c.json"));
  } catch (const ConfigErrors& errors) {
    return errors.what();
  }
  return "no error";
}

// kGood with one piece of text replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string text = example::kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_messages(const std::vector<Case>& table) {
  for (const Case& row : table) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(what(row.text), row.message);
  }
}

TEST(Malformed, SyntaxErrorsSayWhereAndWhat) {
  expect_messages({
      {"empty", "", "c.json:1:1: unexpected end of input, expected a value"},
      {"blank", "  \n ", "c.json:2:2: unexpected end of input, expected a value"},
      {"cut off", "{\"a\": [1, 2", "c.json:1:12: /a/2: unexpected end of input, expected ']'"},
      {"cut off in a string", "{\"a\": \"xy",
       "c.json:1:10: /a: invalid string: missing closing quote"},
      {"two values", "{} {}", "c.json:1:4: unexpected '{', expected end of input"},
      {"comma at the end of an object", "{\"a\": 1,\n}",
       "c.json:2:1: unexpected '}', expected a string (JSON has no comma after the last "
       "item: remove it)"},
      {"comma at the end of an array", "[1, 2,]",
       "c.json:1:7: /2: unexpected ']', expected a value (JSON has no comma after the last item: "
       "remove it)"},
      {"missing comma", "{\"a\": 1\n \"b\": 2}",
       "c.json:2:2: unexpected string, expected '}' (is a comma missing before this?)"},
      {"missing colon", "{\"a\" 1}", "c.json:1:6: /a: unexpected number, expected ':'"},
      {"line comment", "{\n  // bandwidth\n  \"a\": 1}",
       "c.json:2:3: invalid literal (JSON has no comments: remove it)"},
      {"block comment", "{\"a\": 1, /* x */ \"b\": 2}",
       "c.json:1:10: invalid literal (JSON has no comments: remove it)"},
      {"hash comment", "# x\n{}", "c.json:1:1: invalid literal (JSON has no comments: remove it)"},
      {"single quotes", "{'a': 1}",
       "c.json:1:2: invalid literal (JSON writes strings in double quotes)"},
      {"Python constant", "{\"a\": True}",
       "c.json:1:7: /a: invalid literal (JSON writes true, false and null in lower case)"},
      {"NaN", "{\"a\": NaN}", "c.json:1:7: /a: invalid literal (JSON has no such number)"},
      {"cut literal", "[tru", "c.json:1:2: /0: invalid literal"},
      {"control character", "[1, \x01]", "c.json:1:5: /1: invalid literal"},
      {"cut by a control character", "[tr\x02]", "c.json:1:2: /0: invalid literal"},
      {"leading zero", "[01]", "c.json:1:3: /1: unexpected number, expected ']'"},
      {"no digit", "[1, -x]", "c.json:1:6: /1: invalid number, expected digit after '-'"},
      {"huge number", "[1e999]", "c.json:1:2: /0: the number is too large"},
      {"newline in a string", "[\"a\nb\"]",
       "c.json:1:4: /0: invalid string: control character U+000A (LF) must be escaped to \\u000A "
       "or "
       "\\n"},
      {"bad escape", "[\"a\\q\"]",
       "c.json:1:5: /0: invalid string: forbidden character after backslash"},
      {"lone surrogate", "[\"\\ud800\"]",
       "c.json:1:9: /0: invalid string: surrogate U+D800..U+DBFF must be followed by "
       "U+DC00..U+DFFF"},
      {"not UTF-8", "[\"a\xFF\"]", "c.json:1:4: /0: invalid string: ill-formed UTF-8 byte"},
      {"overlong UTF-8", "[\"\xC0\xAF\"]", "c.json:1:3: /0: invalid string: ill-formed UTF-8 byte"},
      {"byte order mark", "\xEF\xBB\xBF{}",
       "c.json:1:1: the file begins with a byte order mark (save it as UTF-8 without one)"},
      {"UTF-16", std::string("\xFF\xFE{\0}\0", 6), "c.json:1:1: invalid literal"},
  });
}

TEST(Malformed, GoodDocumentHasNoError) {
  EXPECT_EQ(what(example::kGood), "no error");
}

TEST(Malformed, WrongKeysAndValuesSayWhatIsRight) {
  expect_messages({
      {"unknown key", with("\"latency\"", "\"latencey\""),
       "c.json:6:50: /links/0/latencey: unknown key \"latencey\" (did you mean \"latency\"?)"},
      {"unknown key, nothing near", with("\"latency\"", "\"weather\""),
       "c.json:6:50: /links/0/weather: unknown key \"weather\" (known keys: from, rate, latency)"},
      {"missing key", with("\"devices\": 8,", ""),
       "c.json:1:1: missing key \"devices\" (number of devices)"},
      {"missing key of an item", with("\"from\": \"gpu0\", ", ""),
       "c.json:6:13: /links/0: missing key \"from\" (device that sends)"},
      {"duplicate key", with("\"name\": \"b\"", "\"name\": \"b\", \"name\": \"c\""),
       "c.json:3:16: /name: duplicate key \"name\" (first at line 3, column 3)"},
      {"no unit", with("\"450 GB/s\"", "450"),
       "c.json:6:30: /links/0/rate: 450 has no unit (write it as in \"450 GB/s\")"},
      {"no unit in text", with("450 GB/s", "450"),
       "c.json:6:30: /links/0/rate: \"450\" has no unit (write it as in \"450 GB/s\")"},
      {"unknown unit", with("450 GB/s", "450 GBs"),
       "c.json:6:30: /links/0/rate: unknown unit \"GBs\" (did you mean \"GB/s\"?)"},
      {"wrong unit", with("1.5 us", "1.5 GB"),
       "c.json:6:50: /links/0/latency: \"GB\" is a unit of a size, not of a duration (units of a "
       "duration: ps, ns, us, ms, s)"},
      {"zero size", with("141 GB", "0 B"),
       "c.json:5:14: /memory/value: \"0 B\" is out of range (more than 0 B)"},
      {"bare zero", with("\"141 GB\"", "0"),
       "c.json:5:14: /memory/value: 0 is out of range (more than 0 B)"},
      {"negative size", with("141 GB", "-1 GB"),
       "c.json:5:14: /memory/value: \"-1 GB\" is negative (a size is zero or more)"},
      {"quantity of the wrong kind", with("\"450 GB/s\"", "true"),
       "c.json:6:30: /links/0/rate: expected a bandwidth as text with a unit, not a boolean (write "
       "it "
       "as in \"450 GB/s\")"},
      {"integer out of range", with("\"devices\": 8", "\"devices\": 65"),
       "c.json:4:3: /devices: 65 is out of range (1 to 64)"},
      {"integer in real form", with("\"devices\": 8", "\"devices\": 8.0"),
       "c.json:4:3: /devices: expected an integer, not 8.0"},
      {"integer in quotes", with("\"devices\": 8", "\"devices\": \"8\""),
       "c.json:4:3: /devices: expected an integer, not a string"},
      {"real out of range", with("\"devices\": 8", "\"devices\": 8, \"efficiency\": 1.5"),
       "c.json:4:17: /efficiency: 1.5 is out of range (0 to 1)"},
      {"empty string", with("\"name\": \"b\"", "\"name\": \"\""),
       "c.json:3:3: /name: the string is empty"},
      {"not a boolean", with("\"name\": \"b\"", "\"name\": \"b\", \"duplex\": 1"),
       "c.json:3:16: /duplex: expected true or false, not an integer"},
      {"unknown name", with("\"name\": \"b\"", "\"name\": \"b\", \"colour\": \"gren\""),
       "c.json:3:16: /colour: unknown name \"gren\" (did you mean \"green\"? one of red, green)"},
      {"unknown alternative", with("\"cube\"", "\"pyramid\""),
       "c.json:9:3: /shape: unknown name \"pyramid\" (one of cube, ball)"},
      {"key of another alternative", with("\"cube\"", "\"ball\""),
       "c.json:9:20: /side: unknown key \"side\" (known keys: schema, name, devices, "
       "efficiency, duplex, colour, memory, peak, links, order, delays, work, shape)"},
      {"null is not absent", with("\"order\": [0, 2, 1]", "\"order\": null"),
       "c.json:7:3: /order: expected an array, not null"},
      {"bad item", with("[0, 2, 1]", "[0, -2, 99999999999]"),
       "c.json:7:16: /order/1: -2 is out of range (0 to 2147483647)\n"
       "c.json:7:20: /order/2: 99999999999 is out of range (0 to 2147483647)"},
      {"item that is no object", with("\"links\": [", "\"links\": [7, "),
       "c.json:6:13: /links/0: expected an object, not an integer"},
      {"too few items",
       with("[{\"from\": \"gpu0\", \"rate\": \"450 GB/s\", \"latency\": \"1.5 us\"}]", "[]"),
       "c.json:6:3: /links: 0 items are out of range (at least 1 items)"},
      {"bare parameter",
       with("{\"value\": \"141 GB\", \"source\": {\"kind\": \"datasheet\", \"reference\": \"page "
            "2\"}}",
            "\"141 GB\""),
       "c.json:5:3: /memory: expected a value with its source, not a string (write {\"value\": "
       "\"141 GB\", \"source\": {\"kind\": \"datasheet\", \"reference\": \"...\"}})"},
      {"source of no kind", with("\"kind\": \"datasheet\", ", ""),
       "c.json:5:33: /memory/source: missing key \"kind\" (how the value was obtained)"},
      {"source of unknown kind", with("datasheet", "rumour"),
       "c.json:5:44: /memory/source/kind: unknown name \"rumour\" (one of datasheet, measured, "
       "fitted, "
       "published, assumed)"},
      {"other schema", with("weft.box/1", "weft.machine/1"),
       "c.json:2:3: /schema: unknown schema \"weft.machine/1\" (this must be \"weft.box/1\", a box "
       "of "
       "the tests)"},
      {"not an object", "[]", "c.json:1:1: expected an object, not an array"},
      {"pointer is escaped", with("\"name\": \"b\"", "\"name\": \"b\", \"a/b~c\": 1"),
       "c.json:3:16: /a~1b~0c: unknown key \"a/b~c\" (known keys: schema, name, devices, "
       "efficiency, "
       "duplex, colour, memory, peak, links, order, delays, work, shape, side)"},
  });
}

TEST(Malformed, AllErrorsOfAFileComeAtOnceInTheirOrder) {
  EXPECT_EQ(what(R"({
  "schema": "weft.box/1",
  "name": "b", "name": "c",
  "devices": 0,
  "memory": {"value": "141 GBs", "source": {"kind": "guess", "reference": "x"}, "note": 1},
  "links": [{"form": "gpu0", "rate": 450}],
  "shape": "cube"
})"),
            "c.json:1:1: missing key \"side\" (length)\n"
            "c.json:3:16: /name: duplicate key \"name\" (first at line 3, column 3)\n"
            "c.json:4:3: /devices: 0 is out of range (1 to 64)\n"
            "c.json:5:14: /memory/value: unknown unit \"GBs\" (did you mean \"GB\"?)\n"
            "c.json:5:45: /memory/source/kind: unknown name \"guess\" (one of datasheet, measured, "
            "fitted, published, assumed)\n"
            "c.json:5:81: /memory/note: unknown key \"note\" (known keys: value, source)\n"
            "c.json:6:13: /links/0: missing key \"from\" (device that sends)\n"
            "c.json:6:14: /links/0/form: unknown key \"form\" (did you mean \"from\"?)\n"
            "c.json:6:30: /links/0/rate: 450 has no unit (write it as in \"450 GB/s\")");
}

TEST(Malformed, PrintsTheFirstHundredOfVeryManyErrors) {
  std::string text = "{\"schema\": \"weft.box/1\"";
  for (int i = 0; i < 300; ++i) text += ",\n\"zzzzz" + std::to_string(i) + "\": 0";
  const std::string message = what(text + "}");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  // 300 unknown keys and the 5 that are missing.
  EXPECT_EQ(message.substr(message.rfind('\n') + 1), "c.json: and 205 more errors");
}

}  // namespace
}  // namespace weft::config
