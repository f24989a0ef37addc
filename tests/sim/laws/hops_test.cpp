// SPDX-License-Identifier: Apache-2.0
// Trees in the network, by their closed forms: a multicast takes each byte once from its source and
// gives it to each of n targets, a reduction is its mirror image. And what the law of hops finds.
#include "tests/sim/laws/hops.hpp"

#include <gtest/gtest.h>

#include "sim/program_builder.hpp"
#include "tests/sim/laws/activities.hpp"

namespace weft::sim::laws {
namespace {

using namespace weft::literals;

constexpr Bandwidth kOut = 50_GBps;
constexpr Bandwidth kIn = 40_GBps;
constexpr Bytes kBytes = 2_MB;

// A root (device 0) and n leaves around `planes` switches; route 0 is the tree, striped over them.
Machine tree(Route::Kind kind, std::uint32_t leaves, std::uint32_t planes) {
  Machine machine;
  machine.processes.push_back(
      {.name = "process", .launch_cost = {}, .graph_launch_cost = {}, .max_connections = 8});
  Route route;
  route.kind = kind;
  route.name = "tree";
  route.denominator = planes;
  for (std::uint32_t p = 0; p < planes; ++p) {
    machine.switches.push_back(
        {.name = "plane", .capacity = {}, .multicasts = true, .reduces = true});
    route.shares.push_back({.on = RouteShare::On::fabric_switch, .index = p});
  }
  const bool fans_out = kind == Route::Kind::multicast;
  for (std::uint32_t d = 0; d <= leaves; ++d) {
    Device device{.name = "device",
                  .sms = {.sms_per_gpc = {4},
                          .per_sm = {.threads = 2048,
                                     .registers = 65536,
                                     .shared_memory = 64_KiB,
                                     .cta_slots = 8}},
                  .memory = MemoryId(d),
                  .l2 = {},
                  .engines = {},
                  .interference = {}};
    device.engines.emplace_back();
    machine.devices.push_back(device);
    machine.memories.push_back(
        {.name = "hbm", .device = DeviceId(d), .bandwidth = 2_TBps, .size = {}});
    machine.ranks.push_back({.device = DeviceId(d), .process = ProcessId(0), .sms_per_gpc = {}});
    const bool sends = (d == 0) == fans_out;
    (sends ? route.sources : route.targets).emplace_back(d);
    for (std::uint32_t p = 0; p < planes; ++p) {
      const LinkEnd memory{LinkEnd::Of::memory, d};
      const LinkEnd plane{LinkEnd::Of::fabric_switch, p};
      for (const bool out : {true, false}) {
        Link link{.name = out ? "out" : "in",
                  .capacity_per_direction = Bandwidth::from_bytes_per_second(
                      (out ? kOut : kIn).bytes_per_second() / planes),
                  .latency = {}};
        link.from = out ? memory : plane;
        link.to = out ? plane : memory;
        if (out == sends) {
          route.shares.push_back({.on = RouteShare::On::link,
                                  .index = static_cast<std::uint32_t>(machine.links.size())});
        }
        machine.links.push_back(link);
      }
    }
  }
  machine.routes.push_back(route);
  return machine;
}

std::map<ResourceKey, double> bytes_of_one_copy(const Machine& machine, Duration& time) {
  ProgramBuilder builder;
  builder.thread(ProcessId(0)).copy(builder.stream(RankId(0)), 0, RouteId(0), kBytes);
  const Program program = builder.finish();
  const RecordedRun run = run_lawfully(machine, program);
  time = run.result.end.since_start();
  Breaches breaches;
  std::map<ResourceKey, double> bytes;
  for (const SharedActivity& activity : shared_activities(run, breaches)) {
    for (const auto& [key, amount] : activity.asks.uses) bytes[key] += amount * activity.progress();
  }
  return bytes;
}

/// Bytes into and out of each end of a link.
struct Ends {
  std::map<LinkEnd, double> in, out;
};

/// Of one copy over route 0, which takes S / B_in; each memory has S.
Ends ends_of_one_copy(const Machine& machine) {
  Duration time;
  const auto bytes = bytes_of_one_copy(machine, time);
  EXPECT_EQ(time, kBytes / kIn);
  Ends ends;
  for (const auto& [key, carried] : bytes) {
    if (key.first == ResourceKind::memory) {
      EXPECT_NEAR(carried, static_cast<double>(kBytes.count()), 1);
    }
    if (key.first != ResourceKind::link) continue;
    ends.in[*machine.links[key.second].to] += carried;
    ends.out[*machine.links[key.second].from] += carried;
  }
  return ends;
}

// The ports into the leaves are the narrow ones: S / B_in, whatever n. Each plane takes S / k in and
// gives n S / k out; each memory has S.
TEST(Multicast, TakesEachByteOnceAndGivesItToEachTarget) {
  for (const std::uint32_t leaves : {1U, 2U, 7U}) {
    for (const std::uint32_t planes : {1U, 4U}) {
      const Ends bytes = ends_of_one_copy(tree(Route::Kind::multicast, leaves, planes));
      const double share = static_cast<double>(kBytes.count()) / planes;
      for (std::uint32_t p = 0; p < planes; ++p) {
        const LinkEnd plane{LinkEnd::Of::fabric_switch, p};
        EXPECT_NEAR(bytes.in.at(plane), share, 1);
        EXPECT_NEAR(bytes.out.at(plane), leaves * share, leaves);
      }
    }
  }
}

// The mirror image: every leaf sends S, each plane takes n S / k and gives S / k, and the root's
// port is the narrow one.
TEST(Reduce, TakesEachByteFromEachSourceAndGivesItOnce) {
  for (const std::uint32_t leaves : {1U, 2U, 7U}) {
    for (const std::uint32_t planes : {1U, 4U}) {
      const Ends bytes = ends_of_one_copy(tree(Route::Kind::reduce, leaves, planes));
      const double share = static_cast<double>(kBytes.count()) / planes;
      for (std::uint32_t p = 0; p < planes; ++p) {
        const LinkEnd plane{LinkEnd::Of::fabric_switch, p};
        EXPECT_NEAR(bytes.in.at(plane), leaves * share, leaves);
        EXPECT_NEAR(bytes.out.at(plane), share, 1);
      }
    }
  }
}

TEST(Hops, ALostBranchATornStripeAndASwitchThatCannotAreTold) {
  const Machine whole = tree(Route::Kind::multicast, 3, 2);
  EXPECT_EQ(hops_conserve(whole), Breaches());
  Machine lost = whole;
  lost.routes[0].shares.pop_back();
  EXPECT_FALSE(hops_conserve(lost).empty());
  Machine torn = whole;
  torn.routes[0].shares.back().numerator = 2;
  EXPECT_FALSE(hops_conserve(torn).empty());
  Machine unable = whole;
  unable.switches[1].multicasts = false;
  EXPECT_FALSE(hops_conserve(unable).empty());
  Machine unicast = whole;
  unicast.routes[0].kind = Route::Kind::unicast;
  EXPECT_FALSE(hops_conserve(unicast).empty());
}

}  // namespace
}  // namespace weft::sim::laws
