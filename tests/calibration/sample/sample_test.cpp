// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/sample/sample_file.hpp"
#include "calibration/sample/sample_json.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Duration> times(std::initializer_list<int> microseconds) {
  std::vector<Duration> list;
  for (const int us : microseconds) list.push_back(Duration::from_ps(std::int64_t{us} * 1'000'000));
  return list;
}

SampleSet one_of_each() {
  SampleSet set;
  set.runs.push_back(
      {"weft-measure", "2026-01-02T03:04:05Z", "GPU", 1, 132, "580", "13.0", "13.1", "", "abc"});
  Sample sample;
  sample.what.suite = "fused";
  sample.what.operation = "ag_gemm";
  sample.what.figure = "D";
  sample.what.shape = Shape{8192, 3584, 8192};
  sample.what.chunks = 8;
  sample.what.margin = 0;
  sample.what.bytes = 67'108'864;
  sample.what.background =
      Background{"write", "to_host", "traffic_first", 8, 50'000'000'000, 65536};
  sample.kernel = {"k", {128, 256, 64}, {2, 1}, 4, 2, 132, 384};
  sample.conditions = {1980, 3201, 650, 50, {"sw_power_cap"}};
  sample.times = times({874, 875, 876, 1188, 1187});
  sample.throttled = {4};
  sample.background_bytes_per_second = {1, 2, 3, 4, 5};
  sample.check = 0.25;
  set.samples.push_back(sample);
  return set;
}

void expect_same(const SampleSet& a, const SampleSet& b) {
  EXPECT_EQ(a.runs, b.runs);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].what, b.samples[i].what);
    EXPECT_EQ(a.samples[i].kernel, b.samples[i].kernel);
    EXPECT_EQ(a.samples[i].conditions, b.samples[i].conditions);
    EXPECT_EQ(a.samples[i].times, b.samples[i].times);
    EXPECT_EQ(a.samples[i].throttled, b.samples[i].throttled);
    EXPECT_EQ(a.samples[i].background_bytes_per_second, b.samples[i].background_bytes_per_second);
    EXPECT_EQ(a.samples[i].check, b.samples[i].check);
    EXPECT_EQ(a.samples[i].run, b.samples[i].run);
  }
}

std::string error_of(const std::string& text) {
  SampleSet set;
  try {
    read_lines(text, "s.jsonl", set);
  } catch (const config::ConfigErrors& errors) {
    EXPECT_TRUE(set.samples.empty());
    return errors.what();
  }
  return "";
}

const std::string kRun =
    R"({"schema":"weft.sample/1","record":"run","device":"GPU","devices":1,"sms":132})"
    "\n";

TEST(SampleFile, KeepsEveryFieldThroughPlainAndCompressedFiles) {
  const SampleSet set = one_of_each();
  for (const char* name : {"round.jsonl", "round.jsonl.gz"}) {
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
    save_samples(file, set);
    expect_same(load_samples(file), set);
  }
}

TEST(SampleFile, ReadsFilesThatWereAppendedTo) {
  const SampleSet set = one_of_each();
  const std::string first = to_line(set.runs[0]) + "\n" + to_line(set.samples[0]) + "\n";
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "twice.jsonl.gz";
  std::ofstream(file, std::ios::binary) << compress(first) << compress(first);
  const SampleSet read = load_samples(file);
  ASSERT_EQ(read.samples.size(), 2u);
  EXPECT_EQ(read.samples[0].run, 0);
  EXPECT_EQ(read.samples[1].run, 1);
}

TEST(SampleFile, RefusesAFileThatWasCutShort) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "short.jsonl.gz";
  const std::string packed = compress("{}\n");
  std::ofstream(file, std::ios::binary) << packed.substr(0, packed.size() / 2);
  EXPECT_THROW(load_samples(file), config::ConfigErrors);
}

TEST(SampleFile, CompressesTheSameTextToTheSameBytes) {
  EXPECT_EQ(compress("weft"), compress("weft"));
}

TEST(SampleReader, NamesEveryErrorOfEveryLine) {
  const std::string text =
      kRun +
      R"({"record":"sample","case":{"suite":"gemm","operation":"gemm","figure":"time","shape":{"m":0,"n":1,"k":1}},"times_ps":[5]})"
      "\n"
      R"({"record":"sample","case":{"suite":"gemm","operation":"gemm","figure":"time","colour":"red"},"times_ps":[5]})"
      "\n";
  const std::string error = error_of(text);
  EXPECT_THAT(error, HasSubstr("s.jsonl:2"));
  EXPECT_THAT(error, HasSubstr("/case/shape/m"));
  EXPECT_THAT(error, HasSubstr("s.jsonl:3"));
  EXPECT_THAT(error, HasSubstr("colour"));
}

TEST(SampleReader, WantsARunBeforeItsSamples) {
  EXPECT_THAT(
      error_of(
          R"({"record":"sample","case":{"suite":"a","operation":"b","figure":"time"},"times_ps":[5]})"),
      HasSubstr("belongs to no run"));
}

TEST(SampleReader, RefusesWrongOutputsAndRepetitionsThatAreNotThere) {
  const std::string head =
      kRun + R"({"record":"sample","case":{"suite":"a","operation":"b","figure":"time"},)";
  EXPECT_THAT(error_of(head + R"("times_ps":[5],"check":1.5})"), HasSubstr("output was wrong"));
  EXPECT_THAT(error_of(head + R"("times_ps":[5],"throttled":[1]})"), HasSubstr("no repetition 1"));
  EXPECT_THAT(error_of(head + R"("times_ps":[]})"), HasSubstr("no repetition"));
}

TEST(Modes, OneClusterIsOneMode) {
  EXPECT_EQ(modes(times({100, 101, 102, 101, 100, 103, 101})).size(), 1u);
  EXPECT_EQ(modes(times({100, 100, 100, 100, 100, 100, 100, 100, 100, 180})).size(), 1u)
      << "one outlier in ten is no mode";
}

TEST(Modes, TwoClustersAreTwoModesWithTheirShares) {
  const std::vector<Mode> found = modes(times({874, 1188, 875, 1187, 874, 1189, 876, 875}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].median.ps(), 875'000'000);
  EXPECT_EQ(found[1].median.ps(), 1'188'000'000);
  EXPECT_DOUBLE_EQ(found[0].share, 5.0 / 8.0);
}

TEST(Median, TakesTheLowerOfTwoInTheMiddle) {
  EXPECT_EQ(median(times({4, 1, 3, 2})).ps(), 2'000'000);
  EXPECT_EQ(median(times({3, 1, 2})).ps(), 2'000'000);
}

TEST(Key, DependsOnTheCaseAlone) {
  Sample a = one_of_each().samples[0];
  Sample b = a;
  b.times = times({1});
  EXPECT_EQ(key(a.what), key(b.what));
  b.what.chunks = 9;
  EXPECT_NE(key(a.what), key(b.what));
  EXPECT_EQ(key(a.what).size(), 16u);
}

}  // namespace
}  // namespace weft::calibration
