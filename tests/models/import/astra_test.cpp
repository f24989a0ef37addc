// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's inputs, and its own numbers for the configuration that it is validated with.
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/import/astra_program.hpp"
#include "models/import/chakra.hpp"
#include "sim/run.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::model {
namespace {

using fixture::refusal_of;
using testing::HasSubstr;
using topology::AstraNetwork;
using topology::AstraSystem;

AstraNetwork network_of(const std::string& name) {
  return topology::read_astra_network(fixture::text_of("astra_network/" + name), name);
}

AstraSystem validated_system() {
  const std::string file = "configs/imports/hgx-h100-astra-system.json";
  return topology::read_astra_system(config::read_text(file, Bytes::from(1 << 20)), file);
}

Duration time_of(const AstraNetwork& network, const AstraSystem& system, Bytes message) {
  const AstraCollective built =
      astra_collective(network, system, ChakraCollective::all_reduce, message);
  return Duration::from_ps(sim::run(built.machine, built.program, {}, {}).end.ps());
}

// ASTRA-sim's analytical backend on inputs/.../HGX-H100-validated: 1, 4, 8 and 16 MiB.
TEST(AstraSim, TheValidatedAllReduceIsWithinTenPercentOfItsOwn) {
  const std::pair<std::int64_t, double> theirs[] = {{1, 57.4}, {4, 71.7}, {8, 90.8}, {16, 128.8}};
  for (const auto& [mebibytes, microseconds] : theirs) {
    const Duration ours =
        time_of(network_of("hgx_h100.yml"), validated_system(), Bytes::from(mebibytes << 20));
    const double ratio = static_cast<double>(ours.ps()) / (microseconds * 1e6);
    EXPECT_GT(ratio, 0.9) << mebibytes;
    EXPECT_LT(ratio, 1.0) << mebibytes;  // they add a pass over local memory
  }
}

// s splits, a in flight, n ranks, two hops of latency l: s/a rounds of 2(n-1) 2 l, and the bytes
// 2(n-1)/n S over a link of rate B, whichever chunks share it.
TEST(AstraSim, RingTimeIsRoundsOfLatenciesAndTheBytesOfALink) {
  AstraNetwork network = network_of("hgx_h100.yml");
  network.dimensions[0].npus = 4;
  network.dimensions[0].latency = Duration::from_ps(1'000'000);
  network.dimensions[0].bandwidth_per_direction = Bandwidth::from_bytes_per_second(100'000'000'000);
  AstraSystem system;
  system.all_reduce = {"ring"};
  for (const auto& [splits, active, rounds] :
       {std::tuple(1, 1, 1), std::tuple(4, 2, 2), std::tuple(4, 4, 1)}) {
    system.splits = splits;
    system.active_chunks = active;
    // 6 steps x 2 hops x 1 us a round, and 4e6 x 1.5 / 1e11 = 60 us.
    EXPECT_EQ(time_of(network, system, Bytes::from(4'000'000)).ps(), (rounds * 12 + 60) * 1'000'000)
        << splits;
  }
}

TEST(AstraSim, AnAlgorithmOrANetworkThatIsNotModelledIsNamed) {
  AstraSystem system;
  system.all_reduce = {"doubleBinaryTree"};
  try {
    static_cast<void>(astra_collective(network_of("hgx_h100.yml"), system,
                                       ChakraCollective::all_reduce, Bytes::from(1024)));
    ADD_FAILURE();
  } catch (const std::invalid_argument& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("doubleBinaryTree"));
  }
  EXPECT_THROW(static_cast<void>(astra_collective(network_of("hgx_h100.yml"), {},
                                                  ChakraCollective::all_reduce, Bytes())),
               std::invalid_argument);
}

/// Two dimensions of n0 rings and n1 by a switch, 100 GB/s a link, 1 us a hop.
AstraNetwork two_dimensions(std::int64_t n0, std::int64_t n1) {
  AstraNetwork network;
  for (const auto& [shape, npus] : {std::pair(topology::AstraShape::ring, n0),
                                    std::pair(topology::AstraShape::fabric_switch, n1)}) {
    network.dimensions.push_back({shape, npus, Bandwidth::from_bytes_per_second(100'000'000'000),
                                  Duration::from_ps(1'000'000)});
  }
  return network;
}

Duration collective_time(const AstraNetwork& network, ChakraCollective op, std::int64_t bytes) {
  AstraSystem system;
  const AstraCollective built = astra_collective(network, system, op, Bytes::from(bytes));
  return Duration::from_ps(sim::run(built.machine, built.program, {}, {}).end.ps());
}

// A chunk over a ring of n0 (hop l) and a switch of n1 (hops 2 l), links of B bytes a second:
//   reduce-scatter  (n0-1)(l + S/n0/B) + (n1-1)(2l + S/n0/n1/B)
//   all-gather      the same backwards, of a shard S/n0/n1 first
//   all-reduce      scatter in the first, all-reduce in the second, gather in the first.
TEST(AstraSim, SeveralDimensionsAreGoneThroughInTurn) {
  const AstraNetwork network = two_dimensions(4, 2);
  const std::int64_t bytes = 8'000'000, us = 1'000'000;  // 80 us of a link
  const std::int64_t scatter = 3 * us + 60 * us + 1 * 2 * us + 10 * us;
  EXPECT_EQ(collective_time(network, ChakraCollective::reduce_scatter, bytes).ps(), scatter);
  EXPECT_EQ(collective_time(network, ChakraCollective::all_gather, bytes / 8).ps(), scatter);
  EXPECT_EQ(collective_time(network, ChakraCollective::all_reduce, bytes).ps(), 2 * scatter);
  // 1/2 of it crosses the switch, and a ring carries it n(n-1)/2 n-ths of the way.
  EXPECT_EQ(collective_time(network, ChakraCollective::all_to_all, bytes).ps(),
            6 * us + 120 * us + 1 * 2 * us + 40 * us);
}

TEST(AstraSim, AnAllReduceIsAScatterAndAGather) {
  AstraNetwork network = network_of("hgx_h100.yml");
  for (const std::int64_t npus : {2, 3, 8}) {
    network.dimensions[0].npus = npus;
    const std::int64_t bytes = 1 << 20;
    EXPECT_NEAR(static_cast<double>(
                    collective_time(network, ChakraCollective::all_reduce, bytes * npus).ps()),
                static_cast<double>(
                    collective_time(network, ChakraCollective::reduce_scatter, bytes * npus).ps() +
                    collective_time(network, ChakraCollective::all_gather, bytes).ps()),
                2.0);
  }
}

// ---- Chakra --------------------------------------------------------------------------------------

ChakraTrace chakra(const std::string& name) {
  return read_chakra(fixture::text_of("chakra/" + name), name);
}

TEST(Chakra, EverySpellingIsTheSameTrace) {
  const ChakraTrace binary = chakra("layer.et");
  EXPECT_EQ(binary.version, "0.0.4");
  ASSERT_EQ(binary.nodes.size(), 4U);
  EXPECT_EQ(binary.nodes[0].id, 0U);  // is not written in protobuf
  EXPECT_EQ(binary.nodes[0].kind, ChakraKind::compute);
  EXPECT_EQ(binary.nodes[0].duration.ps(), 5'000'000);
  EXPECT_EQ(binary.nodes[1].collective, ChakraCollective::all_reduce);
  EXPECT_EQ(binary.nodes[1].bytes, 4'000'000);
  EXPECT_EQ(binary.nodes[1].dimensions, std::vector<bool>{true});
  EXPECT_EQ(binary.nodes[2].operations, 3'000'000'000);
  EXPECT_EQ(binary.nodes[3].needs, (std::vector<std::uint64_t>{1, 2}));
  for (const char* name : {"layer_camel.json", "layer_snake.json", "layer_flat.json"}) {
    const ChakraTrace text = chakra(name);
    ASSERT_EQ(text.nodes.size(), binary.nodes.size()) << name;
    for (std::size_t i = 0; i < text.nodes.size(); ++i) {
      EXPECT_EQ(text.nodes[i].id, binary.nodes[i].id) << name;
      EXPECT_EQ(text.nodes[i].kind, binary.nodes[i].kind) << name;
      EXPECT_EQ(text.nodes[i].needs, binary.nodes[i].needs) << name;
      EXPECT_EQ(text.nodes[i].duration, binary.nodes[i].duration) << name;
      EXPECT_EQ(text.nodes[i].operations, binary.nodes[i].operations) << name;
      EXPECT_EQ(text.nodes[i].bytes, binary.nodes[i].bytes) << name;
      EXPECT_EQ(text.nodes[i].collective, binary.nodes[i].collective) << name;
    }
  }
}

TEST(Chakra, AFileThatEndsEarlyIsSaid) {
  for (const char* name : {"cut.et", "cut.json"}) {
    const ChakraTrace cut = chakra(name);
    EXPECT_EQ(cut.nodes.size(), 2U);
    ASSERT_EQ(cut.notes.size(), 1U);
    EXPECT_THAT(cut.notes[0].message, HasSubstr("the file ends inside"));
  }
}

TEST(Chakra, WhatIsNoTraceIsRefused) {
  EXPECT_THAT(refusal_of([&] { return chakra("wrong_pytorch.json"); }),
              HasSubstr("an execution trace of PyTorch"));
  EXPECT_THAT(refusal_of([&] { return chakra("wrong_circle.json"); }),
              HasSubstr("2 nodes need each other in a circle"));
  EXPECT_THAT(refusal_of([&] { return chakra("wrong_missing.json"); }),
              HasSubstr("node 1 needs node 7, which is not"));
  const std::string kinds = refusal_of([&] { return chakra("wrong_kinds.json"); });
  EXPECT_THAT(kinds, HasSubstr("node 1: there is no type 12"));
  EXPECT_THAT(kinds, HasSubstr("node 2: GATHER cannot be run"));
  EXPECT_THAT(kinds, HasSubstr("node 3: there is no collective \"ALL_SUM\""));
  EXPECT_THAT(kinds, HasSubstr("node 4: comm_size -1 is no size"));
  EXPECT_THAT(refusal_of([&] { return chakra("wrong_text.et"); }), HasSubstr("no Chakra trace"));
}

// On 2 NPUs by a switch: node 0 computes 5 us, then an all-reduce of 4 MB, 2 x 2 us of latency and
// 40 us of a link, beside node 2, whose 3e9 operations at 1e14 a second take 30 us; node 3, 1 us,
// follows both.
TEST(Chakra, ComputeAndCollectivesRunBesideEachOther) {
  AstraNetwork network = two_dimensions(4, 2);
  network.dimensions.erase(network.dimensions.begin());
  AstraSystem system;
  system.peak = 1e14;
  system.memory = 1e15;
  const AstraTrace run = astra_trace(network, system, {chakra("layer.et")});
  EXPECT_EQ(run.compute.ps(), 36'000'000);
  EXPECT_EQ(sim::run(run.machine, run.program, {}, {}).end.ps(), (5 + 44 + 1) * 1'000'000);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("all 2 NPUs run it"));
  system.peak.reset();
  EXPECT_THROW(static_cast<void>(astra_trace(network, system, {chakra("layer.et")})),
               std::invalid_argument);
}

// NPU 0 computes 5 us and sends 1 MB, 10 us of a link after 2 us; NPU 1 receives and computes 3 us.
TEST(Chakra, MessagesMeet) {
  AstraNetwork network = two_dimensions(4, 2);
  network.dimensions.erase(network.dimensions.begin());
  const AstraTrace run = astra_trace(network, {}, {chakra("send.json"), chakra("receive.json")});
  EXPECT_EQ(sim::run(run.machine, run.program, {}, {}).end.ps(), (5 + 2 + 10 + 3) * 1'000'000);
  for (const auto& traces :
       {std::vector{chakra("send.json")}, std::vector{chakra("send.json"), chakra("send.json")},
        std::vector{chakra("layer.et"), chakra("send.json")}, std::vector(3, chakra("layer.et"))}) {
    AstraSystem system;
    system.peak = system.memory = 1e14;
    EXPECT_THROW(static_cast<void>(astra_trace(network, system, traces)), std::invalid_argument);
  }
}

TEST(AstraSim, NetworksOfEveryShapeBecomeMachines) {
  for (const char* name : {"hgx_h100.yml", "ring.yml", "full.yml", "two_dims.yml"}) {
    const std::string text = config::to_json(topology::machine_of(network_of(name), name));
    EXPECT_THAT(text, HasSubstr("weft.machine/1"));
  }
  EXPECT_EQ(network_of("hgx_h100.yml").dimensions[0].bandwidth_per_direction,
            Bandwidth::from_bytes_per_second(std::int64_t{400} << 30));
  const AstraNetwork two = network_of("two_dims.yml");
  EXPECT_EQ(two.dimensions.size(), 2U);
  ASSERT_EQ(two.notes.size(), 1U);
  EXPECT_THAT(two.notes[0].message, HasSubstr("\"color\" is ignored"));
}

TEST(AstraSim, WrongNetworksAreRefused) {
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_ns3.yml"); }),
              HasSubstr("ns-3 backend writes these as text"));
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_lists.yml"); }),
              HasSubstr("there is no topology \"Mesh\""));
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_lists.yml"); }),
              HasSubstr("npus_count is no list of 2 numbers"));
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_lists.yml"); }),
              HasSubstr("latency is no list of 2 numbers"));
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_list.yml"); }), HasSubstr("no mapping"));
  EXPECT_THAT(refusal_of([&] { return network_of("wrong_yaml.yml"); }), HasSubstr("no YAML"));
}

}  // namespace
}  // namespace weft::model
