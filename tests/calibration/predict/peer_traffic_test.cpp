// SPDX-License-Identifier: Apache-2.0
// What traffic between devices costs a product beside it: found from products of known slow-downs, run by sites of
// devices that have links of their own, and by no other.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "calibration/fit/peer_traffic_fit.hpp"
#include "models/profile/json.hpp"
#include "models/schedules/site.hpp"
#include "topologies/read_machine.hpp"

namespace weft::calibration {
namespace {

constexpr Duration micros(double time) {
  return Duration::from_ps(static_cast<std::int64_t>(time * 1e6));
}

/// The shipped profile, without what was measured of traffic between devices.
model::Profile without_traffic() {
  model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  std::erase_if(profile.interference, [](const auto& term) { return term.between_devices; });
  return profile;
}

Sample one_product(const std::string& figure, int sms, double time) {
  Sample sample;
  sample.what.operation = "gemm";
  sample.what.figure = figure;
  sample.what.library = "weft";
  sample.what.backend = "peer_gpus";
  sample.what.shape = Shape{8192, 8192, 3584};
  sample.what.sms = sms;
  sample.times = {micros(time)};
  return sample;
}

Sample beside_peer(const std::string& kind, const std::string& direction, int ctas, int sms,
                   double time) {
  Sample sample = one_product("beside", sms, time);
  sample.what.background = Background{kind, direction, "traffic_first", ctas, 0, 0};
  return sample;
}

model::Profile fitted(const std::vector<Sample>& samples) {
  static const Run run;
  std::vector<Observation> seen;
  for (const Sample& sample : samples)
    seen.push_back({&sample, &run, false, static_cast<int>(seen.size())});
  return fit_traffic_of_peers(without_traffic(), seen);
}

// Copies cost 4 %, eight CTAs 2 and sixteen 3 % over as many that spin, which hold SMs and cost 20.
std::vector<Sample> peer_samples() {
  std::vector<Sample> samples;
  for (const int sms : {100, 108, 116, 124, 132}) {
    samples.push_back(one_product("alone", sms, 500));
    samples.push_back(beside_peer("copy_engine", "to_device", 0, sms, 520));
    samples.push_back(beside_peer("copy_engine", "device", 0, sms, 900));
    for (const int ctas : {8, 16}) {
      samples.push_back(beside_peer("spin", "device", ctas, sms, 600));
      samples.push_back(beside_peer("copy", "to_device", ctas, sms, ctas == 8 ? 612 : 618));
    }
  }
  return samples;
}

TEST(TrafficOfPeers, IsTheMedianOverTheSameProducts) {
  const model::Profile profile = fitted(peer_samples());
  ASSERT_EQ(profile.interference.size(), without_traffic().interference.size() + 2);
  const model::InterferenceTerm& reads = profile.interference.back();
  const model::InterferenceTerm& copies = profile.interference[profile.interference.size() - 2];
  EXPECT_EQ(copies.access, model::InterferingAccess::engine_copy);
  EXPECT_EQ(reads.access, model::InterferingAccess::read);
  EXPECT_TRUE(copies.between_devices && reads.between_devices);
  ASSERT_EQ(copies.points.size(), 1U);
  EXPECT_NEAR(copies.points[0].slow_down.value, 1.04, 1e-9);
  ASSERT_EQ(reads.points.size(), 2U);
  EXPECT_EQ(reads.points[0].ctas, 8);
  EXPECT_NEAR(reads.points[0].slow_down.value, 1.02, 1e-9);
  EXPECT_NEAR(reads.points[1].slow_down.value, 1.03, 1e-9);
  EXPECT_EQ(fitted({}), without_traffic());
}

TEST(TrafficOfPeers, ActsBetweenDevicesAndOverNoHostsLink) {
  const topology::MachineSpec machine =
      topology::read_machine(std::filesystem::path("configs/machines/h200x8.json")).spec;
  const model::Profile profile = fitted(peer_samples());
  const auto names = [](const model::Site& site) {
    std::vector<std::string> list;
    for (const sim::Interference& term : site.built.machine.devices.front().interference)
      list.push_back(term.name);
    return list;
  };
  // Reads act whether the link is full or not.
  EXPECT_EQ(names(model::make_site(machine, profile, topology::packed_places(machine, 2))),
            (std::vector<std::string>{"copies by engine between devices", "reads of peers",
                                      "reads of peers"}));
  const std::vector<std::string> host = names(model::make_host_site(machine, profile, {0, 0}, 2));
  EXPECT_EQ(host, names(model::make_host_site(machine, without_traffic(), {0, 0}, 2)));
  EXPECT_FALSE(host.empty());
}

}  // namespace
}  // namespace weft::calibration
