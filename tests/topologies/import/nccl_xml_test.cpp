// SPDX-License-Identifier: Apache-2.0
// NCCL's topology files: dumps, files written by hand, and XML that is something else.
#include "topologies/import/nccl_xml.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "sim/units/bytes.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::topology {
namespace {

using namespace weft::literals;
using fixture::errors_of;
using fixture::lines_of;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Survey xml(const std::string& name) {
  return read_nccl_xml(fixture::text_of("nccl_xml/" + name + ".xml"), name);
}

TEST(NcclXml, ADumpIsReadWhole) {
  const Survey survey = xml("h100x8_dump");
  EXPECT_THAT(lines_of(survey.notes), IsEmpty());
  ASSERT_EQ(survey.gpus.size(), 8U);
  EXPECT_EQ(survey.nvlink, NvlinkShape::switched);
  EXPECT_EQ(survey.gpus[0].fabric_links, 18);
  EXPECT_EQ(survey.gpus[0].sm_version, 90);
  EXPECT_EQ(survey.gpus[0].pcie.uplink_per_direction, 64_GBps);
  EXPECT_EQ(survey.nics[0].name, "mlx5_7");  // the reverse of the GPUs
  EXPECT_THAT(nearest_nics(survey, 0), ElementsAre(0U));
  EXPECT_EQ(survey.nics[0].port_per_direction, 50_GBps);
  EXPECT_EQ(survey.numa.size(), 2U);
  EXPECT_EQ(survey.nodes, 1);
}

TEST(NcclXml, EqualHostsAreNodes) {
  const Survey survey = xml("h100x8_two_hosts");
  EXPECT_EQ(survey.nodes, 2);
  EXPECT_EQ(survey.gpus.size(), 8U);
}

TEST(NcclXml, AMissingEdgeIsFlagged) {
  const Survey survey = xml("h100x8_missing_edge");
  EXPECT_EQ(survey.gpus[6].fabric_links, 14);
  EXPECT_THAT(lines_of(survey.notes), ElementsAre(HasSubstr("has 14 NVLinks, its peers have 18")));
}

TEST(NcclXml, NoNvlinkInAFileWrittenByHandSaysNothing) {
  const Survey survey = xml("azure_a100_input");
  EXPECT_EQ(survey.gpus.size(), 4U);
  EXPECT_EQ(survey.nics.size(), 4U);
  EXPECT_EQ(survey.nvlink, NvlinkShape::hidden);
  EXPECT_EQ(survey.gpus[0].pcie.uplink_per_direction, 32_GBps);
  EXPECT_THAT(lines_of(survey.notes),
              ElementsAre(HasSubstr("a file written by hand, without NVLinks")));
}

TEST(NcclXml, WhatAVirtualMachineHidesIsUnknown) {
  const Survey survey = xml("vm_a100x4");
  ASSERT_EQ(survey.numa.size(), 1U);
  EXPECT_FALSE(survey.numa[0]);
  EXPECT_EQ(survey.gpus[0].fabric_links, 12);
  for (const SurveyGpu& gpu : survey.gpus) EXPECT_FALSE(gpu.pcie.uplink_per_direction);
  for (const PciePlace& each : survey.switches) EXPECT_FALSE(each.uplink_per_direction);
  EXPECT_THAT(survey.nics, IsEmpty());
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("numaid \"-1\" names no NUMA node")));
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("is an idle or a virtual link")));
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("\"eth0\" is on no PCI device")));
}

TEST(NcclXml, LinksToGpusAreDirectAndCountedOnce) {
  const Survey survey = xml("a100x4_direct");
  EXPECT_EQ(survey.nvlink, NvlinkShape::direct);
  ASSERT_EQ(survey.direct.size(), 6U);
  for (const DirectLinks& each : survey.direct) EXPECT_EQ(each.links, 4);
}

TEST(NcclXml, TwoGpusMayShareAPciDevice) {
  const Survey survey = xml("two_dies");
  EXPECT_EQ(survey.gpus.size(), 2U);
  EXPECT_EQ(survey.gpus[1].fabric_links, 36);
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("2 GPUs share PCI device")));
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("<c2c> is ignored")));
}

TEST(NcclXml, NcclsOwnLimitIsSaid) {
  EXPECT_THAT(lines_of(xml("too_many_nodes").notes),
              Contains(HasSubstr("260 XML nodes: NCCL itself stops at 256")));
}

TEST(NcclXml, OtherXmlAndContradictionsAreRefusedByName) {
  EXPECT_THAT(errors_of([&] { return xml("wrong_msccl"); }),
              ElementsAre(HasSubstr("this is an MSCCL algorithm")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_hwloc"); }),
              ElementsAre(HasSubstr("this is hwloc's XML")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_graphs"); }),
              ElementsAre(HasSubstr("this is NCCL's graph file")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_cut"); }),
              ElementsAre(HasSubstr("the XML is cut or broken here")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_twice"); }),
              ElementsAre(HasSubstr("wrong_twice:4:1: two devices have bus id")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_hosts"); }),
              ElementsAre(HasSubstr("the 2 hosts of this file differ")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_no_class"); }),
              ElementsAre(HasSubstr("5 have no class")));
  EXPECT_THAT(errors_of([&] { return xml("wrong_nogpu"); }),
              ElementsAre(HasSubstr("no PCI device is a GPU")));
}

}  // namespace
}  // namespace weft::topology
