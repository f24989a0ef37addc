// SPDX-License-Identifier: Apache-2.0
// What a format accepts, said by the code that reads it.
#include "configs/reader/schema.hpp"

#include <gtest/gtest.h>

#include "configs/reader/json_writer.hpp"
#include "tests/configs/reader/example.hpp"

namespace weft::config {
namespace {

TEST(Schema, ListsEveryKeyWithTypeUnitRangeAndSentence) {
  EXPECT_EQ(to_text(describe(example::read_box)), R"("schema": weft.box/1
    a box of the tests
"name": string
    what people call it
"devices": integer, 1 to 64
    number of devices
"efficiency": real, 0 to 1; default 0.5
    share of the peak
"duplex": boolean; default true
    both directions at once
"colour": red | green; default "green"
    colour of the case
"memory": size in B KB MB GB TB PB KiB MiB GiB TiB PiB, more than 0 B, with source
    memory of a device
"peak": rate of work in FLOP/s KFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s; default "0 FLOP/s"
    peak rate of a device
"links": array of object, at least 1 items
    directed links
  "from": string
      device that sends
  "rate": bandwidth in B/s KB/s MB/s GB/s TB/s PB/s KiB/s MiB/s GiB/s TiB/s b/s Kb/s Mb/s Gb/s Tb/s,
  more than 0 B/s
      capacity per direction
  "latency": duration in ps ns us ms s; default "0 ps"
      time of flight
"order": array of integer, at least 0; optional
    order of devices
"delays": map of duration in ps ns us ms s; default {}
    delay of each
"work": amount of work in FLOP KFLOP MFLOP GFLOP TFLOP PFLOP EFLOP; optional
    work to be done
"shape": cube | ball
    shape of the box
"side": integer, at least 1; when shape = cube
    length
)");
}

TEST(Schema, IsAlsoAValue) {
  const auto read = [](StrictObject& object) {
    return object.defaulted<Duration>({"latency", "time of flight"}, Duration{});
  };
  EXPECT_EQ(to_json(to_value(describe(read)), Layout::compact),
            "{\"type\":\"object\",\"keys\":[{\"name\":\"latency\",\"doc\":\"time of flight\","
            "\"required\":false,\"default\":\"0 ps\",\"value\":{\"type\":\"duration\",\"units\":"
            "[\"ps\",\"ns\",\"us\",\"ms\",\"s\"]}}]}");
}

TEST(Schema, DescribingTwiceGivesTheSame) {
  EXPECT_EQ(describe(example::read_box), describe(example::read_box));
}

}  // namespace
}  // namespace weft::config
