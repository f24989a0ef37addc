// SPDX-License-Identifier: Apache-2.0
// Traces of both profilers, and exposed time by union of intervals.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/import/exposed.hpp"
#include "calibration/import/json_scan.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nsys.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::calibration {
namespace {

using fixture::lines_of;
using fixture::refusal_of;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string place(const std::string& name) {
  return "tests/fuzz/corpus/" + name;
}
GpuTrace csv(const std::string& name) {
  return parse_nsys_csv(fixture::text_of(name), name);
}

GpuTrace trace_of(
    const std::vector<std::tuple<ActivityKind, std::int64_t, std::int64_t>>& activities) {
  GpuTrace trace;
  trace.operations = {{ActivityKind::compute, "compute", 0, 0},
                      {ActivityKind::communication, "AllReduce", 0, 0},
                      {ActivityKind::memory, "memory", 0, 0}};
  for (const auto& [kind, begin, end] : activities) {
    trace.activities.push_back({begin, end, static_cast<std::uint32_t>(kind), 0});
  }
  return trace;
}
constexpr auto comp = ActivityKind::compute;
constexpr auto comm = ActivityKind::communication;

TEST(Exposure, IsTheUnionOfCommunicationWithoutTheUnionOfCompute) {
  // compute [0,10) [8,20) [30,40); communication [5,15) [12,35) twice: 15..20 hidden too, 20..30 not.
  const ExposureReport report = exposure_of(trace_of({{comp, 0, 10},
                                                      {comp, 8, 20},
                                                      {comp, 30, 40},
                                                      {comm, 5, 15},
                                                      {comm, 12, 35},
                                                      {comm, 12, 35}}));
  ASSERT_EQ(report.devices.size(), 1U);
  const DeviceExposure& d = report.devices[0];
  EXPECT_EQ(d.compute_ns, 30);
  EXPECT_EQ(d.communication_ns, 30);
  EXPECT_EQ(d.exposed_ns, 10);
  EXPECT_EQ(d.hidden_ns, 20);
  EXPECT_EQ(d.communication_sum_ns, 56);
  EXPECT_EQ(d.span_ns, 40);
  EXPECT_EQ(d.idle_ns, 0);
}

TEST(Exposure, PartsOfCollectivesSumToTheWhole) {
  GpuTrace trace = trace_of({{comp, 10, 20}});
  for (std::uint32_t i = 0; i < 7; ++i) {
    trace.operations.push_back({comm, "AllGather", 8, 1024 * (i + 1)});
    trace.activities.push_back(
        {static_cast<std::int64_t>(3 * i), 25 + static_cast<std::int64_t>(5 * i), 3 + i, 0});
  }
  const ExposureReport report = exposure_of(trace);
  std::int64_t sum = 0;
  for (const CollectiveExposure& each : report.collectives) sum += each.exposed_ns;
  EXPECT_EQ(sum, report.devices[0].exposed_ns);
  EXPECT_EQ(report.devices[0].exposed_ns, 55 - 10);
}

TEST(Exposure, CopiesToTheHostAreNeither) {
  const ExposureReport report =
      exposure_of(trace_of({{comp, 0, 10}, {ActivityKind::memory, 10, 30}, {comm, 40, 50}}));
  EXPECT_EQ(report.devices[0].idle_ns, 30);
  EXPECT_EQ(report.devices[0].exposed_ns, 10);
}

TEST(Kineto, NewTracesHaveTheCollectivesFacts) {
  const GpuTrace trace = read_kineto(place("kineto/new.json"));
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world, 8);
  EXPECT_EQ(trace.devices.at(0), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(trace.activities.size(), 5U);
  EXPECT_THAT(trace.operations, Contains(Operation{comm, "AllReduce", 8, 2097152}));
  EXPECT_THAT(trace.operations, Contains(Operation{comm, "ReduceScatter", 8, 4194304}));
  EXPECT_THAT(lines_of(trace.notes), IsEmpty());
  const ExposureReport report = exposure_of(trace);
  EXPECT_EQ(report.devices[0].communication_ns, 175'000);
  EXPECT_EQ(report.devices[0].hidden_ns, 50'000);
  EXPECT_EQ(report.devices[0].exposed_ns, 125'000);
}

TEST(Kineto, CompressedTracesAreTheSame) {
  const GpuTrace plain = read_kineto(place("kineto/new.json"));
  const GpuTrace packed = read_kineto(place("kineto/new.json.gz"));
  EXPECT_EQ(packed.operations, plain.operations);
  EXPECT_EQ(packed.activities.size(), plain.activities.size());
}

TEST(Kineto, OldTracesHaveWholeMicrosecondsAndNoFacts) {
  const GpuTrace trace = read_kineto(place("kineto/old_array.json"));
  EXPECT_EQ(trace.activities.front().begin_ns, 1'617'000'000'000'010'000);
  EXPECT_THAT(lines_of(trace.notes),
              Contains(HasSubstr("groups and message sizes of collectives are not")));
  EXPECT_THAT(lines_of(trace.notes), Contains(HasSubstr("SendRecv kernels is mostly waiting")));
  EXPECT_EQ(exposure_of(trace).devices[0].exposed_ns, 75'000);
}

TEST(Kineto, EachDeviceForItself) {
  const ExposureReport report = exposure_of(read_kineto(place("kineto/two_devices.json")));
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].exposed_ns, 50'000);
  EXPECT_EQ(report.devices[1].exposed_ns, 90'000);
}

TEST(Kineto, TruncationIsSaid) {
  const GpuTrace trace = read_kineto(place("kineto/cut.json"));
  EXPECT_TRUE(trace.cut);
  EXPECT_EQ(trace.activities.size(), 2U);
  EXPECT_THAT(lines_of(trace.notes), Contains(HasSubstr("the trace is cut or broken after")));
  EXPECT_THAT(refusal_of([] { return read_kineto(place("kineto/wrong_cut_early.json")); }),
              HasSubstr("cut or broken before its first GPU kernel"));
}

TEST(Kineto, EventsWithoutTimesAreCountedAndPassedOver) {
  const GpuTrace trace = read_kineto(place("kineto/bad_times.json"));
  EXPECT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(trace.activities[0].begin_ns, 12'500);
  EXPECT_EQ(trace.activities[0].end_ns, 15'500);
  EXPECT_THAT(lines_of(trace.notes), Contains(HasSubstr("3 GPU events without usable times")));
}

TEST(Kineto, TracesWithoutGpusAreRefused) {
  EXPECT_THAT(refusal_of([] { return read_kineto(place("kineto/wrong_no_gpu.json")); }),
              HasSubstr("no GPU kernel"));
  EXPECT_THAT(refusal_of([] { return read_kineto(place("kineto/wrong_not_json.json")); }),
              HasSubstr("cut or broken"));
  EXPECT_THAT(refusal_of([] { return read_kineto(place("kineto/none.json")); }),
              HasSubstr("cannot be opened"));
}

TEST(KernelNames, OfEveryGenerationAreCommunication) {
  for (const auto& [kernel, collective] :
       {std::pair("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", "AllReduce"),
        std::pair("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long)",
                  "SendRecv"),
        std::pair("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "ReduceScatter"),
        std::pair("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)", "AllGather"),
        std::pair("void vllm::cross_device_reduce_2stage<half, 8>(x)", "AllReduce"),
        std::pair("userbuffers_fp16_sum_inplace_gpu_rr_rs<8>", "ReduceScatter")}) {
    EXPECT_EQ(communication_of(kernel), collective) << kernel;
  }
  EXPECT_EQ(communication_of("void at::native::reduce_kernel<AllReduceLike>(x)"), std::nullopt);
}

TEST(Nsys, DatabasesOfBothNamings) {
  for (const char* name : {"nsys/export.sqlite", "nsys/old.sqlite"}) {
    const ExposureReport report = exposure_of(read_nsys_sqlite(place(name)));
    ASSERT_EQ(report.devices.size(), 1U) << name;
    EXPECT_EQ(report.devices[0].hidden_ns, 50) << name;
  }
  const GpuTrace trace = read_nsys_sqlite(place("nsys/export.sqlite"));
  EXPECT_EQ(trace.devices.at(0), "NVIDIA H100");
  EXPECT_EQ(exposure_of(trace).devices[0].exposed_ns, 250);  // with the peer copy
}

TEST(Nsys, OtherAndBrokenDatabases) {
  EXPECT_THAT(lines_of(read_nsys_sqlite(place("nsys/bad_times.sqlite")).notes),
              Contains(HasSubstr("1 rows without usable times")));
  EXPECT_THAT(refusal_of([] { return read_nsys_sqlite(place("nsys/wrong_other.sqlite")); }),
              HasSubstr("no table of GPU kernels"));
  EXPECT_THAT(refusal_of([] { return read_nsys_sqlite(place("nsys/wrong_empty.sqlite")); }),
              HasSubstr("no GPU activity"));
  EXPECT_NE(refusal_of([] { return read_nsys_sqlite(place("nsys/wrong_cut.sqlite")); }),
            "not refused");
}

TEST(Nsys, TablesWithPreambleAndDeviceNames) {
  const GpuTrace trace = csv("nsys/gpu_trace.csv");
  EXPECT_EQ(trace.devices.at(0), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(exposure_of(trace).devices[0].exposed_ns, 70);
  EXPECT_EQ(csv("nsys/gpu_trace_us.csv").activities[0].end_ns, 1100);
}

TEST(Nsys, CutTablesAndTablesOfSums) {
  const GpuTrace cut = csv("nsys/gpu_trace_cut.csv");
  EXPECT_TRUE(cut.cut);
  EXPECT_THAT(lines_of(cut.notes), Contains(HasSubstr("the row is cut")));
  const GpuTrace cut_in_a_name = csv("nsys/gpu_trace_cut_in_name.csv");
  EXPECT_TRUE(cut_in_a_name.cut);
  EXPECT_THAT(lines_of(cut_in_a_name.notes), Contains(HasSubstr("its last row may be cut")));
  EXPECT_THAT(refusal_of([] { return csv("nsys/wrong_sums.csv"); }),
              HasSubstr("cannot be told from sums"));
  EXPECT_THAT(refusal_of([] { return csv("nsys/wrong_columns.txt"); }),
              HasSubstr("the table that nsys prints for people"));
  EXPECT_THAT(lines_of(csv("nsys/no_device.csv").notes),
              Contains(HasSubstr("no column says Device")));
}

TEST(JsonScan, WalksAndSkips) {
  JsonScanner scan(text_source(R"({"a": [1, {"b": "}]"}], "c": "x\"y", "d": -1.5e3})"));
  using Token = JsonScanner::Token;
  EXPECT_EQ(scan.next(), Token::begin_object);
  EXPECT_EQ(scan.next(), Token::key);
  scan.skip();
  EXPECT_EQ(scan.next(), Token::key);
  EXPECT_EQ(scan.text(), "c");
  EXPECT_EQ(scan.next(), Token::string);
  EXPECT_EQ(scan.text(), "x\"y");
  EXPECT_EQ(scan.next(), Token::key);
  EXPECT_EQ(scan.next(), Token::number);
  EXPECT_EQ(scan.text(), "-1.5e3");
  EXPECT_EQ(scan.next(), Token::end_object);
  EXPECT_EQ(scan.next(), Token::end);
}

}  // namespace
}  // namespace weft::calibration
