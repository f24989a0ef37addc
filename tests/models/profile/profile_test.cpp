// SPDX-License-Identifier: Apache-2.0
// Every shipped profile loads, says where each number is from, and survives being written.
#include <filesystem>
#include <map>
#include <utility>

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
  EXPECT_TRUE(has("/control/graph_launch"));
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

std::string errors_of(const Profile& profile, const std::string& from, const std::string& to) {
  std::string text = config::to_json(to_value(profile), config::Layout::compact);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    (void)read_profile(config::Document::parse(text, "rows.json"));
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "no error";
}

TEST(Profiles, AnIntervalWithItsEndsTheOtherWayRoundIsRefused) {
  Profile profile = load_profile("configs/profiles/h200-sxm.json");
  profile.errors.resize(1);
  profile.errors[0].low = 0.75;
  profile.errors[0].high = 1.25;
  EXPECT_EQ(errors_of(profile, "\"high\":1.25", "\"high\":1.25"), "no error");
  EXPECT_NE(
      errors_of(profile, "\"high\":1.25", "\"high\":0.5").find("/errors/0/high: is below \"low\""),
      std::string::npos);
}

TEST(ProfileRows, BadRowsAreNamedByTheirFields) {
  using namespace literals;
  Profile profile = load_profile("configs/profiles/h200-sxm.json");
  const MeasuredProduct row{1024, 55_us, 128, 168, 64, 5, 4, 2, 1};
  MeasuredProduct next = row;
  next.m = 2048;
  const Source source{SourceKind::measured, "test"};
  profile.gemm->measured = {{GemmLibrary::cublaslt, 1280, 8192, 66, {row, next}, source}};
  profile.gemm->corrections = {
      {GemmLibrary::cublaslt, 64, 48, 1, 4, 1, 6, 0.9, 1.1, 500_ns, 4_us, source}};
  const auto expect = [&](const char* from, const char* to, const char* what) {
    const std::string said = errors_of(profile, from, to);
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  expect("8192,66,2048,\"55 us\"", "8192,66,2048,55", "/gemm/measured/0/rows/1/5");
  expect("8192,66,2048,", "8192,66,1024,", "M does not rise at 1024 of N 1280, K 8192 on 66 SMs");
  expect("128,168,64,5,4,2,1]", "128,168,64,5,4,2]", "a row has 13 fields, not 12");
  expect("64,48,1,4,1,6,0.9", "64,48,1,4,1,6,90.0", "/gemm/corrections/0/rows/0/7");
  expect("[\"cublaslt\",64", "[\"cublas\",64", "/gemm/corrections/0/rows/0/0");
}

// More bytes never take less time while the library stays with a protocol: it changes hands by an estimate (LL128 to
// chunks on B200), and may come out lower. No message is carried faster than the links of a device can.
TEST(Profiles, CollectivesAreMonotoneInBytesAndWithinTheLink) {
  for (const auto& file : shipped()) {
    const Profile profile = load_profile(file);
    const Fabric fabric = fabric_of(profile);
    for (const CollectiveOp op : every_collective_op) {
      for (const int ranks : {2, 4, 8}) {
        const auto problem = CollectiveProblem::in_node(op, ranks);
        std::map<std::pair<CollectiveAlgorithm, CollectiveProtocol>, Duration> last;
        for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 31; bytes += 1 + bytes / 7) {
          const auto cost = choose_collective(profile, fabric, problem, Bytes::from(bytes));
          const Duration now = cost.time(Bytes::from(bytes));
          Duration& before = last[{cost.algorithm, cost.protocol}];
          EXPECT_GE(now, before) << file << name_of(op) << bytes;
          if (cost.transport != Transport::fabric_switch) {
            EXPECT_GE(now, wire_bytes(op, Bytes::from(bytes), ranks) / fabric.gpu_per_direction);
          }
          before = now;
        }
      }
    }
  }
}

// What one H200 took for [8192, 3584] x [3584, 8192] in bf16 by cuBLASLt told to use so many SMs; none of it was
// fitted. The price goes with the waves, not with the SM count. Products that were fitted rest after each
// repetition and these did not: the clock makes up to a seventh.
TEST(Profiles, GemmOfH200FollowsTheSmCount) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  const std::pair<int, double> seen[] = {{132, 628}, {128, 622}, {124, 639}, {120, 703},
                                         {112, 743}, {96, 849},  {66, 1126}, {33, 2181}};
  for (const auto& [sms, us] : seen) {
    const GemmCost cost = gemm_cost(profile, {.m = 8192, .n = 8192, .k = 3584}, SmBudget::of(sms));
    EXPECT_NEAR(static_cast<double>(cost.time.ps()) * 1e-6 / us, 1.0, 0.14) << sms;
  }
}

TEST(Sources, TheWeakerOfTwoIsWhatAResultMayClaim) {
  EXPECT_EQ(weaker(SourceKind::measured, SourceKind::fitted), SourceKind::fitted);
  EXPECT_EQ(weaker(SourceKind::assumed, SourceKind::measured), SourceKind::assumed);
  EXPECT_EQ(weaker(SourceKind::datasheet, SourceKind::published), SourceKind::published);
}

}  // namespace
}  // namespace weft::model
