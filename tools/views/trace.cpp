// SPDX-License-Identifier: Apache-2.0
#include "tools/views/trace.hpp"

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "configs/reader/json_writer.hpp"

namespace weft::tool {
namespace {

// The trace format counts in microseconds; doubles of up to 100 s keep the picosecond.
double micros(TimePoint at) {
  return static_cast<double>((at - TimePoint()).ps()) / 1e6;
}
double micros(Duration length) {
  return static_cast<double>(length.ps()) / 1e6;
}

const char* category(LaneKind kind) {
  switch (kind) {
    case LaneKind::compute:
      return "compute";
    case LaneKind::communication:
    case LaneKind::engine:
    case LaneKind::nic:
      return "communication";
    case LaneKind::link:
      return "link";
  }
  return "";
}

class Writer {
 public:
  explicit Writer(std::ostream& out) : json_(out) {}

  void write(const LaneSink& lanes, const std::string& name) {
    json_.begin_object().member("displayTimeUnit", "ns").key("otherData").begin_object();
    json_.member("producer", "weft").member("name", std::string_view(name)).end_object();
    json_.key("traceEvents").begin_array();
    for (const RankLanes& rank : lanes.ranks()) rank_events(rank);
    std::int64_t id = 0;
    for (const SignalArrow& arrow : lanes.arrows()) arrow_events(arrow, ++id);
    for (const LinkLane& link : lanes.links()) counter_events(link);
    json_.end_array().end_object();
  }

 private:
  void named(const char* what, std::int64_t process, std::int64_t thread, const std::string& name) {
    json_.begin_object()
        .member("ph", "M")
        .member("name", what)
        .member("pid", process)
        .member("tid", thread);
    json_.key("args")
        .begin_object()
        .member("name", std::string_view(name))
        .end_object()
        .end_object();
  }

  void rank_events(const RankLanes& rank) {
    const std::int64_t process = rank.rank.value();
    named("process_name", process, 0, fmt::format("rank {}", process));
    std::int64_t thread = 0;
    for (const Lane& lane : rank.lanes) {
      // Spans of a lane may overlap (cohorts of one kernel): nested threads keep each readable.
      named("thread_name", process, ++thread, lane.name);
      for (const LaneSpan& span : lane.spans) {
        json_.begin_object()
            .member("ph", "X")
            .member("name", std::string_view(span.label))
            .member("cat", category(lane.kind));
        json_.member("pid", process).member("tid", thread).member("ts", micros(span.start));
        json_.member("dur", micros(span.end - span.start)).key("args").begin_object();
        json_.member("boundary", std::string_view(span.boundary)).member("chunk", span.chunk);
        if (span.ctas > 0) json_.member("ctas", span.ctas);
        json_.end_object().end_object();
      }
    }
  }

  void arrow_events(const SignalArrow& arrow, std::int64_t id) {
    const auto point = [&](const char* phase, sim::RankId rank, TimePoint at) {
      json_.begin_object()
          .member("ph", phase)
          .member("name", std::string_view(arrow.label))
          .member("cat", "signal")
          .member("id", id);
      json_.member("pid", static_cast<std::int64_t>(rank.value()))
          .member("tid", 1)
          .member("ts", micros(at));
      if (*phase == 'f') json_.member("bp", "e");
      json_.end_object();
    };
    point("s", arrow.from, arrow.sent);
    point("f", arrow.to, arrow.seen);
  }

  void counter_events(const LinkLane& link) {
    for (const LinkLoad& load : link.loads) {
      json_.begin_object()
          .member("ph", "C")
          .member("name", std::string_view(link.name))
          .member("pid", 0)
          .member("ts", micros(load.at));
      json_.key("args")
          .begin_object()
          .member("GB/s", load.bytes_per_second / 1e9)
          .end_object()
          .end_object();
    }
  }

  config::JsonStream json_;
};

}  // namespace

void write_trace(const LaneSink& lanes, const std::string& name, std::ostream& out) {
  Writer(out).write(lanes, name);
  out << '\n';
}

}  // namespace weft::tool
