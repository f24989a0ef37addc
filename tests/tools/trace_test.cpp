// SPDX-License-Identifier: Apache-2.0
// The trace, held to what Perfetto and chrome://tracing need to draw it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "tests/tools/command.hpp"

namespace weft::tool {
namespace {

using config::Document;
using config::Value;

// In whole picoseconds, which microseconds as doubles keep.
std::int64_t ps(const Value& micros) {
  return std::llround(micros.as_real() * 1e6);
}

struct Slice {
  std::int64_t start, end;
};

std::string text_at(const Value& event, const std::string& key) {
  return at(event, key).as_string();
}

class Trace : public Command {
 protected:
  using Lane = std::pair<double, double>;  // process and thread

  // What the program writes for a scenario of eight ranks with flags and links.
  void SetUp() override {
    const Ran ran = weft(
        "simulate configs/scenarios/gemm-rs-chunked.json --schedule device_flag --no-timeline "
        "--trace $T/trace.json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    document_.emplace(Document::parse(text_of(folder_ / "trace.json"), "trace.json"));
    for (const Value& event : at(document_->root(), "traceEvents").items()) {
      by_phase_[text_at(event, "ph")].push_back(&event);
    }
  }

  static Lane lane_of(const Value& event) {
    return {at(event, "pid").as_real(), at(event, "tid").as_real()};
  }
  std::map<Lane, std::vector<Slice>> slices() {
    std::map<Lane, std::vector<Slice>> lanes;
    for (const Value* event : by_phase_["X"]) {
      const std::int64_t start = ps(at(*event, "ts"));
      lanes[lane_of(*event)].push_back({start, start + ps(at(*event, "dur"))});
    }
    return lanes;
  }

  std::optional<Document> document_;
  std::map<std::string, std::vector<const Value*>> by_phase_;
};

TEST_F(Trace, HasAProcessForEachRankAndANameForEachLane) {
  std::set<double> processes;
  std::set<Lane> named;
  for (const Value* event : by_phase_["M"]) {
    if (text_at(*event, "name") == "process_name") processes.insert(at(*event, "pid").as_real());
    if (text_at(*event, "name") == "thread_name") named.insert(lane_of(*event));
  }
  EXPECT_EQ(processes.size(), 8u);
  for (const auto& [lane, spans] : slices()) EXPECT_TRUE(named.contains(lane)) << lane.second;
}

// Slices of one thread nest or follow each other: a viewer draws nothing else right.
TEST_F(Trace, SlicesOfALaneDoNotCross) {
  for (const auto& [lane, spans] : slices()) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t j = i + 1; j < spans.size(); ++j) {
        const Slice &a = spans[i], &b = spans[j];
        const bool apart = a.end <= b.start || b.end <= a.start;
        const bool nested =
            (a.start <= b.start && b.end <= a.end) || (b.start <= a.start && a.end <= b.end);
        EXPECT_TRUE(apart || nested) << "rank " << lane.first << " lane " << lane.second;
      }
    }
  }
}

// An arrow is drawn between the slices that its ends lie in.
TEST_F(Trace, ArrowsStartAndEndInSlices) {
  const auto lanes = slices();
  ASSERT_FALSE(by_phase_["s"].empty());
  ASSERT_EQ(by_phase_["s"].size(), by_phase_["f"].size());
  std::set<double> begun, ended;
  for (const char* phase : {"s", "f"}) {
    for (const Value* event : by_phase_[phase]) {
      (*phase == 's' ? begun : ended).insert(at(*event, "id").as_real());
      const std::int64_t when = ps(at(*event, "ts"));
      const auto lane = lanes.find(lane_of(*event));
      ASSERT_NE(lane, lanes.end());
      bool inside = false;
      for (const Slice& slice : lane->second) {
        inside = inside || (slice.start <= when && when <= slice.end);
      }
      EXPECT_TRUE(inside) << phase << " at " << when;
    }
  }
  EXPECT_EQ(begun, ended);
  EXPECT_EQ(begun.size(), by_phase_["s"].size());
}

TEST_F(Trace, LinksHaveCountersOfTheirRate) {
  std::map<std::string, double> last;
  double most = 0.0;
  for (const Value* event : by_phase_["C"]) {
    const double rate = at(at(*event, "args"), "GB/s").as_real();
    EXPECT_GE(rate, 0.0);
    most = std::max(most, rate);
    last[text_at(*event, "name")] = rate;
  }
  EXPECT_GT(most, 0.0);
  for (const auto& [link, rate] : last) EXPECT_EQ(rate, 0.0) << link << " never comes to rest";
}

}  // namespace
}  // namespace weft::tool
