// SPDX-License-Identifier: Apache-2.0
// Drafts: null where the dump is silent, a machine that can be built once completed.
#include "topologies/import/draft.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/json_writer.hpp"
#include "sim/units/rates.hpp"
#include "topologies/build.hpp"
#include "topologies/import/nccl_xml.hpp"
#include "topologies/import/roles.hpp"
#include "topologies/import/topo_matrix.hpp"
#include "topologies/read_machine.hpp"

namespace weft::topology {
namespace {

using namespace weft::literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Survey survey_of(const std::string& file) {
  const std::string place = "tests/fuzz/corpus/" + file;
  const std::string text = config::read_text(place, Bytes::from(1 << 20));
  return file.ends_with(".xml") ? read_nccl_xml(text, place) : read_topo_matrix(text, place);
}

Completion from(const std::string& machine) {
  return {machine, "devices/" + machine.substr(0, 4) + "-sxm.json",
          read_machine("configs/machines/" + machine + ".json").spec};
}

MachineSpec completed(const std::string& file, const std::string& machine) {
  const Completion completion = from(machine);
  const MachineDraft draft = draft_machine(survey_of(file), &completion);
  EXPECT_THAT(draft.unknown, IsEmpty()) << file;
  return read_machine(config::Document::parse(config::to_json(draft.machine),
                                              "configs/machines/imported.json"))
      .spec;
}

TEST(MachineDraft, WhatTheDumpDoesNotSayIsNullAndNamed) {
  const MachineDraft draft = draft_machine(survey_of("topo_matrix/h100x8.txt"));
  EXPECT_THAT(draft.unknown, Contains("profile"));
  EXPECT_THAT(draft.unknown, Contains("bandwidth of the NVLinks of a GPU"));
  EXPECT_THAT(draft.unknown, Contains("latency of a GPU's PCIe link"));
  EXPECT_THAT(draft.unknown, Contains(HasSubstr("whether the NVLink switch multicasts")));
  EXPECT_THAT(draft.completed, IsEmpty());
  EXPECT_TRUE(draft.machine.find("device")->is_null());
  EXPECT_THROW(read_machine(config::Document::parse(config::to_json(draft.machine), "x.json")),
               config::ConfigErrors);
}

TEST(MachineDraft, ADumpWithGenerationsKnowsItsRates) {
  const MachineDraft draft = draft_machine(survey_of("nccl_xml/h100x8_dump.xml"));
  EXPECT_THAT(draft.unknown, Not(Contains(HasSubstr("bandwidth of the NVLinks"))));
  EXPECT_THAT(draft.unknown, Not(Contains(HasSubstr("bandwidth of a GPU's PCIe link"))));
  const std::string text = config::to_json(draft.machine);
  EXPECT_THAT(text, HasSubstr("450 GB/s"));
  EXPECT_THAT(text, HasSubstr("18 links"));
}

TEST(MachineDraft, CompletedItIsAMachineThatIsBuilt) {
  for (const char* file :
       {"topo_matrix/h100x8.txt", "topo_matrix/container.txt", "topo_matrix/a100x4_glued.txt",
        "topo_matrix/v100x8_mesh.txt", "topo_matrix/l20x8_pcie.txt", "topo_matrix/h100x8_odd.txt",
        "topo_matrix/gb200x4_numa_list.txt", "nccl_xml/h100x8_dump.xml",
        "nccl_xml/h100x8_missing_edge.xml", "nccl_xml/azure_a100_input.xml",
        "nccl_xml/vm_a100x4.xml", "nccl_xml/a100x4_direct.xml"}) {
    const MachineSpec spec = completed(file, "h200x8x2");
    const std::int64_t ranks = devices_per_node(spec);
    const Built built = build(spec, packed_places(spec, ranks));
    EXPECT_EQ(built.machine.ranks.size(), static_cast<std::size_t>(ranks)) << file;
  }
}

TEST(MachineDraft, TwoHostsMakeTwoNodesWithRails) {
  const MachineSpec spec = completed("nccl_xml/h100x8_two_hosts.xml", "h200x8x2");
  EXPECT_EQ(spec.nodes, 2);
  const Built built = build(spec, packed_places(spec, 16));
  EXPECT_EQ(built.machine.ranks.size(), 16U);
}

TEST(MachineDraft, AGpuWithFewerLinksIsSlower) {
  const MachineSpec spec = completed("nccl_xml/h100x8_missing_edge.xml", "h200x8x2");
  const LinkSpec& slow = spec.node.links[0];
  EXPECT_EQ(slow.from, "gpu6");
  EXPECT_EQ(slow.bandwidth_per_direction.value, 350_GBps);
  EXPECT_EQ(spec.node.links[1].bandwidth_per_direction.value, 450_GBps);
}

TEST(MachineDraft, EveryCompletedNumberSaysSo) {
  const Completion completion = from("h200x8");
  const MachineDraft draft = draft_machine(survey_of("topo_matrix/h100x8.txt"), &completion);
  EXPECT_THAT(config::to_json(draft.machine), HasSubstr("taken from machine h200x8 on request: "));
  EXPECT_THAT(draft.completed, Contains(HasSubstr("latency of a GPU's PCIe link: 250 ns")));
}

TEST(LinkRoles, AreFoundWhateverThePartsAreCalled) {
  const MachineSpec spec = read_machine("configs/machines/h200x8x2.json").spec;
  EXPECT_EQ(link_of_role(spec, LinkRole::nvlink)->to, "nvswitch");
  EXPECT_EQ(link_of_role(spec, LinkRole::device_pcie)->to, "pcie[0-7]");
  EXPECT_EQ(link_of_role(spec, LinkRole::uplink)->from, "pcie[0-7]");
  EXPECT_EQ(link_of_role(spec, LinkRole::socket)->from, "root0");
  EXPECT_EQ(link_of_role(spec, LinkRole::memory)->to, "host[0-1]");
  EXPECT_EQ(link_of_role(spec, LinkRole::nic_pcie)->from, "nic[0-7]");
  EXPECT_EQ(fabric_switch(spec)->name, "nvswitch");
  EXPECT_EQ(fabric_switch(read_machine("configs/machines/l20x8.json").spec), nullptr);
}

}  // namespace
}  // namespace weft::topology
