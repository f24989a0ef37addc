// SPDX-License-Identifier: Apache-2.0
// Schedules between nodes: counterparts by NIC, peers inside a node by copy engine or store, sums in the network.
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cost/cost_model.hpp"
#include "models/planner/evaluate.hpp"
#include "models/schedules/delivery.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/registry.hpp"
#include "tests/models/schedules/choices.hpp"
#include "tests/models/schedules/moved_bytes.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

// Two nodes of two ranks, neighbours on different ones: 0 and 2, 1 and 3.
Site two_nodes() {
  const auto spec = topology::read_machine("configs/machines/h200x8x2.json").spec;
  return make_site(spec, load_profile("configs/profiles/" + spec.profile + ".json"),
                   topology::scattered_places(spec, 4, 2));
}

Boundary boundary_of(BoundaryKind kind) {
  return make_boundary(kind, {2048, 1024, 1024}, {}, 4);
}

ScheduleChoice nccl(const std::string& name, const std::string& value,
                    const char* registered = "no") {
  ScheduleChoice choice = choice_of("nccl.serial");
  choice.knobs.set("registered", std::string(registered));
  choice.knobs.set(name, value);
  return choice;
}

std::vector<sim::Message> messages_of(const sim::Program& program) {
  std::vector<sim::Message> messages;
  for (const sim::HostThread& thread : program.threads) {
    for (const sim::Command& command : thread.commands) {
      if (const auto* message = std::get_if<sim::Message>(&command.call))
        messages.push_back(*message);
    }
  }
  return messages;
}

// NICs of any rate, also beyond what the PCIe links that they hang on carry.
TEST(BetweenNodes, NothingIsFasterOverSlowerNics) {
  topology::MachineSpec machine = test_machine("h200x8x2.json");
  std::map<std::string, Duration> slower;
  for (const std::int64_t rate : {10, 40, 50, 52, 55, 60, 64, 100}) {
    machine.spine.links.front().bandwidth_per_direction.value =
        Bandwidth::from_bytes_per_second(rate * 1'000'000'000);
    const Site site = test_site(machine, 16);
    for (const BoundaryKind kind : every_boundary_kind) {
      const Boundary boundary = make_boundary(kind, {4096, 4096, 1024}, {}, 16);
      for (const char* name : {"serial", "chunked"}) {
        ScheduleChoice choice = choice_of(name);
        if (choice.knobs.has("transport")) choice.knobs.set("transport", std::string("sm"));
        const Duration time = overlapped_only(boundary, choice, site, {}).overlapped;
        const auto [known, fresh] = slower.emplace(boundary.name + " " + name, time);
        EXPECT_LE(time, known->second) << known->first << " at " << rate << " GB/s";
        known->second = time;
      }
    }
  }
}

// Every legal schedule delivers between nodes, too, and ends.
TEST(BetweenNodes, EveryLegalScheduleDelivers) {
  const Site site = two_nodes();
  for (const BoundaryKind kind : every_boundary_kind) {
    const Boundary boundary = boundary_of(kind);
    for (const Schedule* schedule : all_schedules()) {
      for (const Knobs& knobs : all_combinations(schedule->info().knobs)) {
        if (schedule->info().system == "weft") break;
        if (!schedule->refusals(boundary, knobs, site).empty()) continue;
        SCOPED_TRACE(boundary.name + " " + schedule->info().name + " " + knobs.to_text());
        EXPECT_THAT(delivery_faults(boundary.collectives.front(),
                                    schedule->transfers(boundary, knobs, site).front()),
                    IsEmpty());
        EXPECT_GE(overlapped_only(boundary, {schedule, knobs}, site, {}).overlapped,
                  schedule->lower_bound(boundary, knobs, site));
      }
    }
  }
}

// A rank puts its own shard at its one counterpart: 512 rows of 1024 two-byte elements.
TEST(BetweenNodes, TritonPutsEachShardAtItsCounterpartOnce) {
  const Site site = two_nodes();
  const sim::Program program = boundary_program(boundary_of(BoundaryKind::ag_gemm),
                                                choice_of("triton_distributed.ag_gemm"), site);
  const auto messages = messages_of(program);
  ASSERT_EQ(messages.size(), 4U);
  for (const sim::Message& each : messages) EXPECT_EQ(each.bytes, Bytes::from(512 * 1024 * 2));
}

// What goes between the nodes of a reduce-scatter is added up before: a block a counterpart, not one a rank.
TEST(BetweenNodes, TritonAddsUpInsideTheNodeFirst) {
  const Site site = two_nodes();
  const sim::Program program = boundary_program(boundary_of(BoundaryKind::gemm_rs),
                                                choice_of("triton_distributed.gemm_rs"), site);
  EXPECT_EQ(messages_of(program).size(), 4U);
  const auto transfers = choice_of("triton_distributed.gemm_rs")
                             .schedule
                             ->transfers(boundary_of(BoundaryKind::gemm_rs),
                                         choice_of("triton_distributed.gemm_rs").knobs, site)
                             .front();
  for (const Transfer& each : transfers) {
    if (site.built.node_of_rank[static_cast<std::size_t>(each.from)] !=
        site.built.node_of_rank[static_cast<std::size_t>(each.to)]) {
      EXPECT_EQ(each.addends.size(), 2U);
    }
  }
}

// NCCL_CTA_POLICY zero over nodes: copy engines and NICs, no kernel of NCCL's; still nothing that reduces.
TEST(BetweenNodes, NicsAndCopyEnginesGatherWithoutAnyCta) {
  const Site site = two_nodes();
  const ScheduleChoice zero = nccl("NCCL_CTA_POLICY", "zero", "window");
  for (const BoundaryKind kind : {BoundaryKind::ag_gemm, BoundaryKind::gemm_a2a}) {
    const Boundary boundary = boundary_of(kind);
    ASSERT_THAT(refusals_of(zero, boundary, site), IsEmpty());
    const sim::Program program = boundary_program(boundary, zero, site);
    EXPECT_TRUE(program.gangs.empty());
    EXPECT_THAT(messages_of(program), testing::Not(IsEmpty()));
  }
  EXPECT_THAT(refusals_of(zero, boundary_of(BoundaryKind::gemm_rs), site),
              Each(HasSubstr("copy engines do not reduce")));
}

// SHARP: a message goes up and one down a node, where a ring of n nodes sends 2 (n-1)/n each way; here both are one.
TEST(BetweenNodes, CollnetSendsAMessageANodeEachWay) {
  Site site = two_nodes();
  const ScheduleChoice sharp = nccl("NCCL_ALGO", "collnetdirect");
  const Boundary boundary = boundary_of(BoundaryKind::gemm_ar);
  ASSERT_THAT(refusals_of(sharp, boundary, site), IsEmpty());
  const BoundaryCollective& collective = boundary.collectives.front();
  const auto cost = network_reduction(site.profile, site.fabric, problem_of(collective, site),
                                      collective.message);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->per_byte.nic_egress * 2, cost->denominator);  // two ranks a node: a half each
  const auto ports =
      port_bytes(collective, sharp.schedule->transfers(boundary, sharp.knobs, site).front());
  for (const PortBytes& port : ports) EXPECT_EQ(port.egress, port.ingress);
  EXPECT_THAT(refusals_of(sharp, boundary_of(BoundaryKind::gemm_rs), site),
              Each(HasSubstr("CollNet all-reduces")));
  EXPECT_THAT(refusals_of(sharp, boundary, test_site("h200x8.json", 4)),
              Each(HasSubstr("CollNet sums over nodes")));
  site.fabric.network_reduces = false;
  EXPECT_THAT(refusals_of(sharp, boundary, site), Each(HasSubstr("SHARP")));
}

// Over 4 nodes a ring sends 3/2 of the message by its node's NICs, the network's sums one: they win.
TEST(BetweenNodes, SumsInTheNetworkBeatRingsOverManyNodes) {
  const Site site = test_site("h200x8x16.json", 32);
  CollectiveProblem problem = site.group;
  problem.op = CollectiveOp::all_reduce;
  const Bytes message = Bytes::from(std::int64_t{1} << 30);
  const auto sharp = network_reduction(site.profile, site.fabric, problem, message);
  ASSERT_TRUE(sharp);
  EXPECT_LT(sharp->time(message), site.prices->library(problem, message).time(message));
}

// Transformer Engine's and FLUX's peers end at the node: what is refused runs unfused, and costs what that costs.
TEST(BetweenNodes, FallingBackCostsTheUnfusedTime) {
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 16384}, {}, 4);
  const Site apart = two_nodes();
  EXPECT_THAT(refusals_of(choice_of("te.pipeline"), boundary, apart),
              Contains(HasSubstr("NVLink domain")));
  EXPECT_THAT(refusals_of(choice_of("flux.gemm_rs"), boundary, apart),
              Contains(HasSubstr("in one node")));
  const Duration unfused = overlapped_only(boundary, choice_of("serial"), apart, {}).overlapped;
  EXPECT_EQ(yardsticks(boundary, apart, {}).serial, unfused);
  const Duration together =
      overlapped_only(boundary, choice_of("te.pipeline"), test_site("h200x8.json", 4), {})
          .overlapped;
  EXPECT_GT(unfused, together);
}

}  // namespace
}  // namespace weft::model
