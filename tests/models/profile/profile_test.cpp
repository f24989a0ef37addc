// SPDX-License-Identifier: Apache-2.0
// Every shipped profile loads, says where each number is from, and survives being written.
#include <filesystem>

#include <gtest/gtest.h>

#include "configs/reader/json_writer.hpp"
#include "models/cost/collective.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/json.hpp"

namespace weft::model {
namespace {

std::vector<std::filesystem::path> shipped() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("configs/profiles")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Profiles, ShippedOnesSurviveARoundTrip) {
  ASSERT_GE(shipped().size(), 6u);
  for (const auto& file : shipped()) {
    const Profile profile = load_profile(file);
    EXPECT_EQ(profile.name, file.stem().string());
    const std::string text = config::to_json(to_value(profile));
    EXPECT_EQ(read_profile(config::Document::parse(text, "again")), profile) << file;
  }
}

TEST(Profiles, EveryNumberHasAReference) {
  for (const auto& file : shipped()) {
    const auto document = config::Document::load(file);
    for (const auto& use : assumed_numbers(document)) {
      EXPECT_FALSE(use.reference.empty()) << file << use.json_pointer;
    }
    for (const auto& error : load_profile(file).errors)
      EXPECT_FALSE(error.source.reference.empty());
  }
}

TEST(Profiles, AssumedNumbersAreListedByPointer) {
  const auto document = config::Document::load("configs/profiles/h200-sxm.json");
  const auto assumed = assumed_numbers(document);
  const auto has = [&](const std::string& pointer) {
    return std::any_of(assumed.begin(), assumed.end(),
                       [&](const auto& use) { return use.json_pointer == pointer; });
  };
  EXPECT_TRUE(has("/control/launch_jitter"));
  EXPECT_FALSE(has("/control/launch"));
}

TEST(Profiles, WhatIsWrongIsSaidAtOnce) {
  const std::string text = R"({"schema": "weft.profile/1", "name": "x", "description": "y",
 "gpu": {"architecture": "a", "sms": {"value": 0, "source": {"kind": "guessed", "reference": "z"}}},
 "control": {}, "colectives": []})";
  try {
    (void)read_profile(config::Document::parse(text, "bad.json"));
    FAIL() << "a bad profile was read";
  } catch (const config::ConfigErrors& errors) {
    const std::string what = errors.what();
    EXPECT_NE(what.find("/gpu/sms/value"), std::string::npos) << what;
    EXPECT_NE(what.find("/gpu/sms/source/kind"), std::string::npos) << what;
    EXPECT_NE(what.find("colectives"), std::string::npos) << what;
    EXPECT_NE(what.find("event_hop"), std::string::npos) << what;
  }
}

// More bytes never take less time, whatever the library chooses on the way; and no message is carried faster
// than the links of a device can.
TEST(Profiles, CollectivesAreMonotoneInBytesAndWithinTheLink) {
  for (const auto& file : shipped()) {
    const Profile profile = load_profile(file);
    const Fabric fabric = fabric_of(profile);
    for (const CollectiveOp op : every_collective_op) {
      for (const int ranks : {2, 4, 8}) {
        const auto problem = CollectiveProblem::in_node(op, ranks);
        Duration last;
        for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 31; bytes += 1 + bytes / 7) {
          const auto cost = choose_collective(profile, fabric, problem, Bytes::from(bytes));
          const Duration now = cost.time(Bytes::from(bytes));
          EXPECT_GE(now, last) << file << name_of(op) << bytes;
          if (cost.transport != Transport::fabric_switch) {
            EXPECT_GE(now, wire_bytes(op, Bytes::from(bytes), ranks) / fabric.gpu_per_direction);
          }
          last = now;
        }
      }
    }
  }
}

// What one H200 took for [8192, 3584] x [3584, 8192] in bf16 by cuBLASLt told to use so many SMs; none of it
// was fitted. The price goes with the waves, not with the SM count.
TEST(Profiles, GemmOfH200FollowsTheSmCount) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  const std::pair<int, double> seen[] = {{132, 628}, {128, 622}, {124, 639}, {120, 703},
                                         {112, 743}, {96, 849},  {66, 1126}, {33, 2181}};
  for (const auto& [sms, us] : seen) {
    const GemmCost cost = gemm_cost(profile, {.m = 8192, .n = 8192, .k = 3584}, SmBudget::of(sms));
    EXPECT_NEAR(static_cast<double>(cost.time.ps()) * 1e-6 / us, 1.0, 0.08) << sms;
  }
}

TEST(Sources, TheWeakerOfTwoIsWhatAResultMayClaim) {
  EXPECT_EQ(weaker(SourceKind::measured, SourceKind::fitted), SourceKind::fitted);
  EXPECT_EQ(weaker(SourceKind::assumed, SourceKind::measured), SourceKind::assumed);
  EXPECT_EQ(weaker(SourceKind::datasheet, SourceKind::published), SourceKind::published);
}

}  // namespace
}  // namespace weft::model
