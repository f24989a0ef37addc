// SPDX-License-Identifier: Apache-2.0
// Topology matrices with the quirks of real ones, and what is refused. The fixtures are the corpus
// of the fuzz target.
#include "topologies/import/topo_matrix.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "tests/fuzz/fixture.hpp"
#include "topologies/import/matrix_text.hpp"

namespace weft::topology {
namespace {

using fixture::errors_of;
using fixture::lines_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Survey matrix(const std::string& name) {
  return read_topo_matrix(fixture::text_of("topo_matrix/" + name + ".txt"), name);
}

std::vector<std::int64_t> numa_of_gpus(const Survey& survey) {
  std::vector<std::int64_t> numa;
  for (const SurveyGpu& gpu : survey.gpus) numa.push_back(survey.numa[gpu.pcie.root].value_or(-1));
  return numa;
}

TEST(TopoMatrix, EscapesLegendAndEmptyTailFields) {
  const Survey survey = matrix("h100x8");
  EXPECT_THAT(lines_of(survey.notes), IsEmpty());
  EXPECT_EQ(survey.gpus.size(), 8U);
  EXPECT_EQ(survey.nvlink, NvlinkShape::switched);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(survey.gpus[i].fabric_links, 18);
    EXPECT_THAT(nearest_nics(survey, i), ElementsAre(i));
  }
  EXPECT_EQ(survey.nics[3].name, "mlx5_3");
  EXPECT_THAT(numa_of_gpus(survey), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(survey.switches.size(), 8U);  // PIX pairs
}

TEST(TopoMatrix, WhatAContainerHidesIsUnknownAndNotPcie) {
  const Survey survey = matrix("container");
  EXPECT_EQ(survey.nvlink, NvlinkShape::hidden);
  EXPECT_FALSE(survey.pcie_known);
  EXPECT_THAT(lines_of(survey.notes), ElementsAre(HasSubstr("all 8 GPUs are SYS from each other: a "
                                                            "container or virtual machine hides")));
}

TEST(TopoMatrix, GluedCellsBlanksAndPrompts) {
  const Survey survey = matrix("a100x4_glued");
  EXPECT_EQ(survey.nvlink, NvlinkShape::switched);
  EXPECT_EQ(survey.gpus[2].fabric_links, 12);
  EXPECT_THAT(numa_of_gpus(survey), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(nearest_nics(survey, 1), ElementsAre(0));
  EXPECT_TRUE(survey.gpus[1].pcie.under.has_value());
  EXPECT_FALSE(survey.gpus[0].pcie.under.has_value());
}

TEST(TopoMatrix, LinksBetweenSomeGpusAreDirect) {
  const Survey survey = matrix("v100x8_mesh");
  EXPECT_EQ(survey.nvlink, NvlinkShape::direct);
  EXPECT_EQ(survey.direct.size(), 16U);
  std::int64_t links_of_gpu0 = 0;
  for (const DirectLinks& each : survey.direct) links_of_gpu0 += each.a == 0 ? each.links : 0;
  EXPECT_EQ(links_of_gpu0, 6);
  EXPECT_THAT(lines_of(survey.notes), IsEmpty());
}

TEST(TopoMatrix, AServerWithoutNvlinkHasNone) {
  const Survey survey = matrix("l20x8_pcie");
  EXPECT_EQ(survey.nvlink, NvlinkShape::none);
  EXPECT_EQ(survey.switches.size(), 4U);
  EXPECT_THAT(numa_of_gpus(survey), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(lines_of(survey.notes), IsEmpty());
}

TEST(TopoMatrix, TwoVisibleGpusDoNotTellASwitchFromABridge) {
  const Survey survey = matrix("slurm_2_of_8");
  EXPECT_EQ(survey.nvlink, NvlinkShape::direct);
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("two GPUs with 18 links look the same")));
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("NUMA affinity \"0-1\" is a list")));
}

TEST(TopoMatrix, OddOnesOutAreFlagged) {
  const Survey survey = matrix("h100x8_odd");
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("the row of GPU6 is missing")));
  EXPECT_THAT(lines_of(survey.notes),
              Contains("h100x8_odd:7:1: odd one out: GPU5 has 16 NVLinks, its peers "
                       "have 18 (`nvidia-smi nvlink --status` shows links that are "
                       "down)"));
  EXPECT_THAT(lines_of(survey.notes),
              Contains(HasSubstr("NIC0 is the nearest NIC of GPU0 and GPU1")));
}

TEST(TopoMatrix, APairOfFewerLinksOverASwitchIsFlagged) {
  const Survey survey = matrix("h100x8_odd_pair");
  EXPECT_EQ(survey.nvlink, NvlinkShape::switched);
  EXPECT_THAT(
      lines_of(survey.notes),
      ElementsAre(HasSubstr("GPU5 and GPU6 are joined by 17 NVLinks, each by 18 to others")));
}

TEST(TopoMatrix, PairsThatAreMissingLeaveNvlinkUnknown) {
  const Survey survey = matrix("unreadable_cell");
  EXPECT_EQ(survey.nvlink, NvlinkShape::hidden);
  EXPECT_THAT(lines_of(survey.notes),
              Contains(HasSubstr("row GPU0 is cut after 1 of 3 cells, at \"??\"")));
}

TEST(TopoMatrix, NumaListsOfGrace) {
  const Survey survey = matrix("gb200x4_numa_list");
  EXPECT_THAT(numa_of_gpus(survey), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(lines_of(survey.notes),
              Contains(HasSubstr("NUMA affinity \"0,2-17\" is a list: its first, 0")));
}

TEST(TopoMatrix, AnEmptyFieldBetweenTabsIsNoNumaNode) {
  const Survey survey = matrix("one_gpu");
  ASSERT_EQ(survey.numa.size(), 1U);
  EXPECT_FALSE(survey.numa[0]);
  EXPECT_EQ(survey.nvlink, NvlinkShape::hidden);
}

TEST(TopoMatrix, TruncationIsSaid) {
  const Survey survey = matrix("cut");
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("the row of GPU6 is missing")));
  EXPECT_THAT(lines_of(survey.notes), Contains(HasSubstr("row GPU5 is cut after 1 of 8 cells")));
  EXPECT_THAT(lines_of(survey.notes),
              Contains(HasSubstr("how GPU7 and GPU6 are joined is missing: unknown")));
}

TEST(TopoMatrix, LookAlikesAndContradictionsAreRefusedByName) {
  EXPECT_THAT(errors_of([&] { return matrix("wrong_p2p"); }),
              ElementsAre(HasSubstr("this is `nvidia-smi topo -p2p`")));
  for (const char* other : {"wrong_p2p_spaced", "wrong_p2p_no_legend"})
    EXPECT_THAT(errors_of([&] { return matrix(other); }),
                ElementsAre(HasSubstr("this is `nvidia-smi topo -p2p`")))
        << other;
  EXPECT_THAT(errors_of([&] { return matrix("wrong_rocm"); }),
              ElementsAre(HasSubstr("this is `rocm-smi --showtopo`")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_smi"); }),
              ElementsAre(HasSubstr("this is the table of `nvidia-smi`")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_sides"); }),
              ElementsAre(HasSubstr("wrong_sides:3:1: GPU1 and GPU0 are joined in one way here and "
                                    "in another on line 2")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_two"); }),
              ElementsAre(HasSubstr("a second matrix with other columns")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_self"); }),
              ElementsAre(HasSubstr("are two parts, not one")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_empty"); }),
              ElementsAre(HasSubstr("no line names GPU0")));
  EXPECT_THAT(errors_of([&] { return matrix("wrong_prose"); }),
              ElementsAre(HasSubstr("no line names GPU0")));
}

TEST(TopoMatrix, CellsAreSplitByTheirVocabulary) {
  const auto cells = cells_of("NV18NODEPIXXSYS");
  ASSERT_TRUE(cells);
  EXPECT_THAT(*cells, ElementsAre(MatrixCell{Nearness::nvlink, 18}, MatrixCell{Nearness::node, 0},
                                  MatrixCell{Nearness::pix, 0}, MatrixCell{Nearness::self, 0},
                                  MatrixCell{Nearness::sys, 0}));
  EXPECT_FALSE(cells_of("NV"));
  EXPECT_FALSE(cells_of("NV99"));
  EXPECT_FALSE(cells_of("OK"));
}

}  // namespace
}  // namespace weft::topology
