// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's inputs, and its own numbers for the configuration that it is validated with.
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/import/astra_program.hpp"
#include "sim/run.hpp"

namespace weft::model {
namespace {

using testing::HasSubstr;
using topology::AstraNetwork;
using topology::AstraSystem;

AstraNetwork network_of(const std::string& name) {
  return topology::read_astra_network(
      config::read_text("tests/fuzz/corpus/astra_network/" + name, Bytes::from(1 << 20)), name);
}

AstraSystem validated_system() {
  const std::string file = "configs/imports/hgx-h100-astra-system.json";
  return topology::read_astra_system(config::read_text(file, Bytes::from(1 << 20)), file);
}

Duration time_of(const AstraNetwork& network, const AstraSystem& system, Bytes message) {
  const AstraCollective built = astra_all_reduce(network, system, message);
  return Duration::from_ps(sim::run(built.machine, built.program, {}, {}).end.ps());
}

std::string wrong(const std::string& name) {
  try {
    static_cast<void>(network_of(name));
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "not refused";
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
    static_cast<void>(astra_all_reduce(network_of("hgx_h100.yml"), system, Bytes::from(1024)));
    ADD_FAILURE();
  } catch (const std::invalid_argument& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("doubleBinaryTree"));
  }
  EXPECT_THROW(
      static_cast<void>(astra_all_reduce(network_of("two_dims.yml"), system, Bytes::from(1))),
      std::invalid_argument);
}

TEST(AstraSim, NetworksOfEveryShapeBecomeMachines) {
  for (const char* name : {"hgx_h100.yml", "ring.yml", "full.yml"}) {
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
  EXPECT_THAT(wrong("wrong_ns3.yml"), HasSubstr("ns-3 backend writes these as text"));
  EXPECT_THAT(wrong("wrong_lists.yml"), HasSubstr("there is no topology \"Mesh\""));
  EXPECT_THAT(wrong("wrong_lists.yml"), HasSubstr("npus_count is no list of 2 numbers"));
  EXPECT_THAT(wrong("wrong_lists.yml"), HasSubstr("latency is no list of 2 numbers"));
  EXPECT_THAT(wrong("wrong_list.yml"), HasSubstr("no mapping"));
  EXPECT_THAT(wrong("wrong_yaml.yml"), HasSubstr("no YAML"));
}

}  // namespace
}  // namespace weft::model
