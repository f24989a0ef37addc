// SPDX-License-Identifier: Apache-2.0
// What is decided from the GPUs of a machine, on machines that are made up.
#include "kernels/measure/bring_up.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::kernels {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MachineView all_linked(int devices) {
  const auto count = static_cast<std::size_t>(devices);
  return {devices, std::vector(count, std::vector<bool>(count, true))};
}

TEST(BringUp, OneGpuRehearsesOnPartitionsOfIt) {
  const BringUp plan = plan_bring_up(all_linked(1));
  EXPECT_THAT(plan.proofs, ElementsAre(Proof{"virtual_ranks", 2}, Proof{"virtual_ranks", 4},
                                       Proof{"virtual_ranks", 8}, Proof{"host_link", 2}));
  EXPECT_THAT(plan.suites, ElementsAre("virtual"));
  EXPECT_THAT(plan.ranks, IsEmpty());
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(BringUp, EightGpusAreProvedInGroupsOfTwoFourAndEight) {
  const BringUp plan = plan_bring_up(all_linked(8));
  EXPECT_THAT(plan.proofs, ElementsAre(Proof{"peer_gpus", 2}, Proof{"peer_gpus_mapped", 2},
                                       Proof{"peer_gpus", 4}, Proof{"peer_gpus_mapped", 4},
                                       Proof{"peer_gpus", 8}, Proof{"peer_gpus_mapped", 8},
                                       Proof{"host_link", 2}));
  EXPECT_THAT(plan.ranks, ElementsAre(2, 4, 8));
  EXPECT_THAT(plan.suites, Contains("peer-boundary"));
}

TEST(BringUp, GroupsThatAreTooLargeAreRehearsed) {
  for (const int devices : {2, 3}) {
    const BringUp plan = plan_bring_up(all_linked(devices));
    EXPECT_EQ(plan.proofs[0], (Proof{"peer_gpus", 2}));
    EXPECT_EQ(plan.proofs[2], (Proof{"virtual_ranks", 4}));
    EXPECT_THAT(plan.ranks, ElementsAre(2));
  }
  EXPECT_THAT(plan_bring_up(all_linked(6)).ranks, ElementsAre(2, 4));
}

TEST(BringUp, APairThatCannotAddressEachOtherIsNamed) {
  MachineView machine = all_linked(4);
  machine.reaches[1][3] = false;
  const BringUp plan = plan_bring_up(machine);
  EXPECT_THAT(plan.ranks, ElementsAre(2));
  EXPECT_EQ(plan.proofs[2], (Proof{"virtual_ranks", 4}));
  ASSERT_EQ(plan.warnings.size(), 1u);
  EXPECT_THAT(plan.warnings[0], HasSubstr("GPU 1 cannot address GPU 3"));
}

TEST(BringUp, PcieCardsWithoutPeerAccessMeasureNoPeers) {
  const MachineView machine{2, {{true, false}, {false, true}}};
  const BringUp plan = plan_bring_up(machine);
  EXPECT_THAT(plan.suites, ElementsAre("virtual"));
  EXPECT_EQ(plan.proofs[0], (Proof{"virtual_ranks", 2}));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("GPU 0 cannot address GPU 1")));
}

TEST(BringUp, WhatNcclOffersIsProvedWhereItIs) {
  MachineView one = all_linked(1);
  one.nccl_processes = one.nccl_windows = true;
  EXPECT_THAT(
      plan_bring_up(one).proofs,
      ElementsAre(Proof{"virtual_ranks", 2}, Proof{"virtual_ranks", 4}, Proof{"virtual_ranks", 8},
                  Proof{"host_link", 2}, Proof{"nccl_processes", 2}, Proof{"nccl_processes", 4}));
  MachineView two = all_linked(2);
  two.nccl_processes = two.nccl_windows = true;
  EXPECT_THAT(
      plan_bring_up(two).proofs,
      ElementsAre(Proof{"peer_gpus", 2}, Proof{"peer_gpus_mapped", 2}, Proof{"peer_gpus_window", 2},
                  Proof{"virtual_ranks", 4}, Proof{"virtual_ranks", 8}, Proof{"host_link", 2}));
}

TEST(BringUp, NoGpuIsSaid) {
  const BringUp plan = plan_bring_up({});
  EXPECT_THAT(plan.proofs, IsEmpty());
  EXPECT_THAT(plan.warnings, ElementsAre("there is no GPU"));
}

}  // namespace
}  // namespace weft::kernels
