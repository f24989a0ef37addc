// SPDX-License-Identifier: Apache-2.0
// The reader of objects: values, defaults, sources, round trips, errors of the caller's own.
#include "configs/reader/strict_object.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/json_writer.hpp"
#include "tests/configs/reader/example.hpp"

namespace weft::config {
namespace {

using namespace literals;

TEST(StrictObject, ReadsEveryKindOfKey) {
  const example::Box box = example::read(Document::parse(example::kGood, "x.json"));
  EXPECT_EQ(box.name, "b");
  EXPECT_EQ(box.devices, 8);
  EXPECT_EQ(box.memory.value, 141_GB);
  EXPECT_EQ(box.memory.source, (Source{SourceKind::datasheet, "page 2"}));
  EXPECT_THAT(box.links, testing::ElementsAre(example::Link{"gpu0", 450_GBps, 1.5_us}));
  EXPECT_THAT(box.order, testing::ElementsAre(0, 2, 1));
  EXPECT_EQ(box.delays.at("x"), 3_ns);
  EXPECT_EQ(box.side, 3);
}

TEST(StrictObject, AbsentKeysTakeTheirDefault) {
  const example::Box box = example::read(Document::parse(example::kGood, "x.json"));
  EXPECT_EQ(box.efficiency, 0.5);
  EXPECT_TRUE(box.duplex);
  EXPECT_EQ(box.colour, example::Colour::green);
  EXPECT_EQ(box.peak, FlopRate{});
  EXPECT_EQ(box.work, std::nullopt);
}

TEST(StrictObject, ListsEveryParameterWithItsSource) {
  const Document document = Document::parse(example::kGood, "x.json");
  StrictObject root(document);
  example::read_box(root);
  root.finish();
  EXPECT_THAT(root.sources(), testing::ElementsAre(SourcedUse{"x.json", "/memory", "141 GB",
                                                              "datasheet", "page 2"}));
}

template <class T>
void expect_round_trip(const T& value) {
  const Value written = Value::object({{"k", to_value(value)}});
  const Document document = Document::parse(to_json(written), "x.json");
  StrictObject root(document);
  EXPECT_EQ(root.required<T>({"k", ""}), value) << to_json(written);
  root.finish();
}

TEST(StrictObject, WhatToValueWritesReadsBack) {
  expect_round_trip(true);
  expect_round_trip(0.1);
  expect_round_trip(std::int64_t{-5});
  expect_round_trip(std::uint8_t{255});
  expect_round_trip(std::string("text"));
  expect_round_trip(936'250_ps);
  expect_round_trip(141_GB);
  expect_round_trip(3.35_TBps);
  expect_round_trip(Flops::from(123));
  expect_round_trip(989.4_TFLOPps);
  expect_round_trip(example::Colour::red);
  expect_round_trip(std::vector<Bytes>{1_KiB, 2_GB});
  expect_round_trip(std::map<std::string, Duration>{{"a", 1_us}, {"b", 0_ps}});
  expect_round_trip(Sourced<Bandwidth>{450_GBps, {SourceKind::measured, "set 5"}});
  expect_round_trip(
      std::vector<Sourced<std::int64_t>>{{132, {SourceKind::published, "paper, table 1"}}});
}

TEST(StrictObject, BareZeroNeedsNoUnit) {
  const Document document = Document::parse("{\"a\": 0, \"b\": 0.0}", "x.json");
  StrictObject root(document);
  EXPECT_EQ(root.required<Duration>({"a", ""}), 0_ps);
  EXPECT_EQ(root.required<Bytes>({"b", ""}), 0_B);
  root.finish();
}

std::string finish_errors(StrictObject& root) {
  try {
    root.finish();
  } catch (const ConfigErrors& errors) {
    return errors.what();
  }
  return "no error";
}

TEST(StrictObject, CallersErrorsStandAtTheirKey) {
  const Document document = Document::parse("{\"links\": [{\"to\": \"gpu9\"}]}", "x.json");
  StrictObject root(document);
  Origin kept;
  const auto read_link = [&](StrictObject& link) {
    const auto to = link.required<std::string>({"to", "device"});
    link.error("to", "no device \"" + to + "\"", "devices: gpu0");
    link.error("a link needs two ends");
    kept = link.origin("to");
    return to;
  };
  root.required_list({"links", "links"}, read_link);
  root.error(kept, "later");
  EXPECT_FALSE(root.good());
  EXPECT_EQ(finish_errors(root),
            "x.json:1:12: /links/0: a link needs two ends\n"
            "x.json:1:13: /links/0/to: no device \"gpu9\" (devices: gpu0)\n"
            "x.json:1:13: /links/0/to: later");
}

TEST(StrictObject, ExactlyOneOfSeveralKeys) {
  const auto check = [](std::string_view text) {
    const Document document = Document::parse(text, "x.json");
    StrictObject root(document);
    root.exactly_one({"pipeline", "boundary", "model"});
    for (const char* key : {"pipeline", "boundary", "model"}) root.any({key, ""});
    return finish_errors(root);
  };
  EXPECT_EQ(check("{\"model\": 1}"), "no error");
  EXPECT_EQ(
      check("{}"),
      "x.json:1:1: none of \"pipeline\", \"boundary\", \"model\" is given (give exactly one of "
      "them)");
  EXPECT_EQ(check("{\"model\": 1, \"pipeline\": 2}"),
            "x.json:1:2: /model: only one of \"pipeline\", \"boundary\", \"model\" may be given "
            "(\"pipeline\" is given too)");
}

TEST(StrictObject, MapsOfObjectsKeepTheOrderOfTheFile) {
  const Document document = Document::parse("{\"m\": {\"z\": {\"v\": 1}, \"a\": {\"v\": 2}}}", "x");
  StrictObject root(document);
  const auto entries = root.required_map({"m", "by name"}, [](StrictObject& entry) {
    return entry.required<int>({"v", "value"});
  });
  root.finish();
  EXPECT_THAT(entries, testing::ElementsAre(Named<int>{"z", 1}, Named<int>{"a", 2}));
}

TEST(StrictObject, OptionalObjectsMayBeAbsent) {
  const Document document = Document::parse("{\"a\": {\"v\": 1}}", "x");
  StrictObject root(document);
  const auto read = [](StrictObject& object) { return object.required<int>({"v", "value"}); };
  EXPECT_EQ(root.optional_object({"a", ""}, read), 1);
  EXPECT_EQ(root.optional_object({"b", ""}, read), std::nullopt);
  EXPECT_TRUE(root.optional_list({"c", ""}, read).empty());
  EXPECT_TRUE(root.optional_map({"d", ""}, read).empty());
  root.finish();
}

}  // namespace
}  // namespace weft::config
