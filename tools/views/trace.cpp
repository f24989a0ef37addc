// SPDX-License-Identifier: Apache-2.0
#include "tools/views/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

constexpr std::string_view kFlags = "flags";

// A lane as threads of slices that follow each other: a viewer cannot draw slices that cross.
struct Thread {
  std::string name;
  LaneKind kind;
  std::vector<LaneSpan> slices;
};

void spread(const std::string& name, LaneKind kind, std::vector<LaneSpan> spans,
            std::vector<Thread>& threads) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const LaneSpan& a, const LaneSpan& b) { return a.start < b.start; });
  const std::size_t first = threads.size();
  for (LaneSpan& span : spans) {
    std::size_t at = first;
    while (at < threads.size() && threads[at].slices.back().end > span.start) ++at;
    if (at == threads.size()) {
      threads.push_back(
          {at == first ? name : fmt::format("{} ({})", name, at - first + 1), kind, {}});
    }
    threads[at].slices.push_back(std::move(span));
  }
}

// Where an end of an arrow is drawn: on a slice of its command, or as a slice of its own.
struct Place {
  const LaneSpan* slice;
  std::size_t thread;
};
struct End {
  const char* phase;
  std::int64_t id;
  std::string_view label;
  std::uint32_t rank;
  std::size_t thread;
  TimePoint at;
};

bool has_slice_at(const Thread& thread, TimePoint at) {
  const auto later =
      std::upper_bound(thread.slices.begin(), thread.slices.end(), at,
                       [](TimePoint time, const LaneSpan& slice) { return time < slice.start; });
  return later != thread.slices.begin() && at <= std::prev(later)->end;
}

class Writer {
 public:
  Writer(const LaneSink& lanes, std::ostream& out) : lanes_(lanes), json_(out) {
    for (const RankLanes& rank : lanes.ranks()) {
      std::vector<Thread>& threads = ranks_[rank.rank.value()];
      for (const Lane& lane : rank.lanes) spread(lane.name, lane.kind, lane.spans, threads);
    }
    for (const auto& [rank, threads] : ranks_) {
      for (std::size_t i = 0; i < threads.size(); ++i) {
        for (const LaneSpan& slice : threads[i].slices)
          slices_[{rank, slice.command}].push_back({&slice, i});
      }
    }
    for (auto& [key, places] : slices_) {
      std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return a.slice->start < b.slice->start;
      });
    }
    place_arrows();
  }

  void write(const std::string& name) {
    json_.begin_object().member("displayTimeUnit", "ns").key("otherData").begin_object();
    json_.member("producer", "weft").member("name", std::string_view(name)).end_object();
    json_.key("traceEvents").begin_array();
    for (const auto& [rank, threads] : ranks_) rank_events(rank, threads);
    for (const End& end : ends_) arrow_event(end);
    for (const LinkLane& link : lanes_.links()) counter_events(link);
    json_.end_array().end_object();
  }

 private:
  // A slice of what posted, while it did; a slice of what waited, then or as soon as it goes on.
  void place_arrows() {
    std::map<std::uint32_t, std::vector<LaneSpan>> flags;
    std::vector<End> loose;  // of stream operations, which have no slices
    std::int64_t id = 0;
    for (const SignalArrow& arrow : lanes_.arrows()) {
      ++id;
      for (const char* phase : {"s", "f"}) {
        const bool sent = *phase == 's';
        const std::uint32_t rank = (sent ? arrow.from : arrow.to).value();
        End end{phase, id, arrow.label, rank, 0, sent ? arrow.sent : arrow.seen};
        if (place(sent ? arrow.poster : arrow.waiter, sent, end)) {
          ends_.push_back(end);
        } else {
          flags[rank].push_back(
              {end.at, end.at + kFlagLength, arrow.label, "", 0, 0, sim::CommandRef{}});
          loose.push_back(end);
        }
      }
    }
    std::map<std::uint32_t, std::size_t> before;
    for (auto& [rank, spans] : flags) {
      before[rank] = ranks_[rank].size();
      spread(std::string(kFlags), LaneKind::engine, std::move(spans), ranks_[rank]);
    }
    for (End& end : loose) {
      const std::vector<Thread>& threads = ranks_[end.rank];
      end.thread = before[end.rank];
      while (!has_slice_at(threads[end.thread], end.at)) ++end.thread;
      ends_.push_back(end);
    }
  }

  bool place(const sim::CommandRef& command, bool sent, End& end) {
    const auto found = slices_.find({end.rank, command});
    if (found == slices_.end()) return false;
    const std::vector<Place>& places = found->second;
    const auto later =
        std::upper_bound(places.begin(), places.end(), end.at,
                         [](TimePoint at, const Place& place) { return at < place.slice->start; });
    for (auto place = later; place != places.begin();) {
      --place;
      if (place->slice->end < end.at) continue;
      end.thread = place->thread;
      return true;
    }
    if (sent || later == places.end()) return false;
    end.thread = later->thread;
    end.at = later->slice->start;
    return true;
  }

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

  void rank_events(std::int64_t process, const std::vector<Thread>& threads) {
    named("process_name", process, 0, fmt::format("rank {}", process));
    std::int64_t number = 0;
    for (const Thread& thread : threads) {
      named("thread_name", process, ++number, thread.name);
      for (const LaneSpan& span : thread.slices) {
        json_.begin_object()
            .member("ph", "X")
            .member("name", std::string_view(span.label))
            .member("cat", category(thread.kind));
        json_.member("pid", process).member("tid", number).member("ts", micros(span.start));
        json_.member("dur", micros(span.end - span.start)).key("args").begin_object();
        json_.member("boundary", std::string_view(span.boundary)).member("chunk", span.chunk);
        if (span.ctas > 0) json_.member("ctas", span.ctas);
        json_.end_object().end_object();
      }
    }
  }

  void arrow_event(const End& end) {
    json_.begin_object()
        .member("ph", end.phase)
        .member("name", end.label)
        .member("cat", "signal")
        .member("id", end.id);
    json_.member("pid", static_cast<std::int64_t>(end.rank))
        .member("tid", static_cast<std::int64_t>(end.thread) + 1)
        .member("ts", micros(end.at))
        .member("bp", "e")
        .end_object();
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

  // What posts or waits without work of its own (a stream's memory operation) is drawn this long.
  static constexpr Duration kFlagLength = Duration::from_ps(1000);

  const LaneSink& lanes_;
  config::JsonStream json_;
  std::map<std::uint32_t, std::vector<Thread>> ranks_;
  std::map<std::pair<std::uint32_t, sim::CommandRef>, std::vector<Place>> slices_;
  std::vector<End> ends_;
};

}  // namespace

void write_trace(const LaneSink& lanes, const std::string& name, std::ostream& out) {
  Writer(lanes, out).write(name);
  out << '\n';
}

}  // namespace weft::tool
