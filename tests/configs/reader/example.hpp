// SPDX-License-Identifier: Apache-2.0
// A small document format that uses every kind of key, for the tests of the reader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/sourced.hpp"
#include "configs/reader/strict_object.hpp"

namespace weft::config::example {

enum class Colour { red, green };

struct Link {
  std::string from;
  Bandwidth rate;
  Duration latency;
  friend bool operator==(const Link&, const Link&) = default;
};

struct Box {
  std::string name;
  std::int64_t devices = 0;
  double efficiency = 0;
  bool duplex = false;
  Colour colour = Colour::red;
  Sourced<Bytes> memory;
  FlopRate peak;
  std::vector<Link> links;
  std::vector<int> order;
  std::map<std::string, Duration> delays;
  std::optional<Flops> work;
  std::string shape;
  std::int64_t side = 0;
};

}  // namespace weft::config::example

template <>
struct weft::config::EnumNames<weft::config::example::Colour> {
  static constexpr std::pair<std::string_view, example::Colour> names[] = {
      {"red", example::Colour::red}, {"green", example::Colour::green}};
};

namespace weft::config::example {

inline Link read_link(StrictObject& object) {
  Link link;
  link.from = object.required<std::string>({"from", "device that sends"});
  link.rate = object.required<Bandwidth>({"rate", "capacity per direction"}, above(Bandwidth{}));
  link.latency = object.defaulted<Duration>({"latency", "time of flight"}, Duration{});
  return link;
}

inline Box read_box(StrictObject& object) {
  Box box;
  object.schema("weft.box/1", "a box of the tests");
  box.name = object.required<std::string>({"name", "what people call it"});
  box.devices = object.required<std::int64_t>({"devices", "number of devices"}, between(1, 64));
  box.efficiency =
      object.defaulted<double>({"efficiency", "share of the peak"}, 0.5, between(0.0, 1.0));
  box.duplex = object.defaulted<bool>({"duplex", "both directions at once"}, true);
  box.colour = object.defaulted<Colour>({"colour", "colour of the case"}, Colour::green);
  box.memory = object.required<Sourced<Bytes>>({"memory", "memory of a device"}, above(Bytes{}));
  box.peak = object.defaulted<FlopRate>({"peak", "peak rate of a device"}, FlopRate{});
  box.links = object.required_list({"links", "directed links"}, read_link, at_least(1));
  box.order = object.optional<std::vector<int>>({"order", "order of devices"}, at_least(0))
                  .value_or(std::vector<int>{});
  box.delays = object.defaulted<std::map<std::string, Duration>>({"delays", "delay of each"}, {});
  box.work = object.optional<Flops>({"work", "work to be done"});
  object.one_of({"shape", "shape of the box"},
                {{"cube", "all sides equal",
                  [&](StrictObject& cube) {
                    box.shape = "cube";
                    box.side = cube.required<std::int64_t>({"side", "length"}, at_least(1));
                  }},
                 {"ball", "no sides", [&](StrictObject&) { box.shape = "ball"; }}});
  return box;
}

inline Box read(const Document& document) {
  StrictObject root(document);
  Box box = read_box(root);
  root.finish();
  return box;
}

inline constexpr const char* kGood = R"({
  "schema": "weft.box/1",
  "name": "b",
  "devices": 8,
  "memory": {"value": "141 GB", "source": {"kind": "datasheet", "reference": "page 2"}},
  "links": [{"from": "gpu0", "rate": "450 GB/s", "latency": "1.5 us"}],
  "order": [0, 2, 1],
  "delays": {"x": "3 ns"},
  "shape": "cube", "side": 3
}
)";

}  // namespace weft::config::example
