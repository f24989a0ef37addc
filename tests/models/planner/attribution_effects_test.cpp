// SPDX-License-Identifier: Apache-2.0
// One program for each effect that an attribution knows: where it alone makes D longer than A, it gets all of D - A.
// Where two effects cost nothing one by one, they share what they cost together.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "models/planner/attribution.hpp"
#include "tests/sim/engine/lab.hpp"

namespace weft::model {
namespace {

using namespace weft::literals;
using sim::CallWriter;
using sim::KernelId;
using sim::Machine;
using sim::Program;
using sim::ProgramBuilder;
using sim::Purpose;
using sim::RankId;
using sim::StreamId;
using sim::TileOrder;

const sim::Footprint half_sm = {.threads = 512};

Attribution attribution_of(const Machine& machine, const Program& program, const Program& compute) {
  return attribute(machine, program, compute, sim::effects_of(sim::Fidelity::contended));
}

Duration part(const std::vector<Attribution::Part>& parts, std::string_view effect) {
  for (const Attribution::Part& each : parts) {
    if (each.effect == effect) return each.time;
  }
  ADD_FAILURE() << "no part " << effect;
  return {};
}

Duration part(const Attribution& attribution, std::string_view effect) {
  return part(attribution.parts, effect);
}

// `effect` gets `exposed` to the picosecond, and nothing else gets any.
void expect_only(const Attribution& attribution, std::string_view effect, Duration exposed) {
  for (const Attribution::Part& each : attribution.parts) {
    EXPECT_EQ(each.time, each.effect == effect ? exposed : Duration()) << each.effect;
  }
}

// A program of rank 0's kernels, each on a stream of its own or one after the other.
class Kernels {
 public:
  Kernels& add(int ctas, const sim::Footprint& footprint, std::int64_t tiles, Duration tile,
               const sim::SmDemand& demand = {}, Bytes memory = {},
               Purpose purpose = Purpose::compute) {
    auto writer = builder_.kernel("kernel", ctas)
                      .footprint(footprint)
                      .role(purpose, TileOrder::static_shares)
                      .range(tiles, tile, demand);
    // Half a GEMM in half the time: what a fluid of the SMs' whole work would take.
    writer.fluid(Duration::from_ps(tile.ps() * tiles / ctas));
    if (memory != Bytes()) writer.memory(sim::MemoryId(0), memory);
    if (!one_stream_ || first_) stream_ = builder_.stream(RankId(0));
    first_ = false;
    thread_.launch(*stream_, writer.id());
    return *this;
  }
  Kernels& one_after_the_other() {
    one_stream_ = true;
    return *this;
  }
  Program finish() { return builder_.finish(); }

 private:
  ProgramBuilder builder_;
  CallWriter thread_ = builder_.thread(sim::ProcessId(0));
  std::optional<StreamId> stream_;
  bool one_stream_ = false, first_ = true;
};

// 16 tiles of 4 us on 8 SMs are two waves, 8 us. Cut into four kernels of four tiles, each is a wave that leaves half
// of the SMs idle: 16 us.
TEST(AttributionOfOneEffect, ChunkingIsWavesThatAreNotFull) {
  Kernels chunks;
  chunks.one_after_the_other();
  for (int chunk = 0; chunk < 4; ++chunk) chunks.add(8, sim::lab::whole_sm(), 4, 4_us);
  expect_only(attribution_of(sim::lab::machine(), chunks.finish(),
                             Kernels().add(8, sim::lab::whole_sm(), 16, 4_us).finish()),
              "chunking", 8_us);
}

// Two kernels that want every SM whole go one after the other, 20 us; two that take half of each SM go together, 10.
TEST(AttributionOfOneEffect, ResidencyIsCtasThatFindNoRoom) {
  Kernels whole, half;
  for (int kernel = 0; kernel < 2; ++kernel) {
    whole.add(8, sim::lab::whole_sm(), 8, 10_us);
    half.add(8, half_sm, 8, 10_us);
  }
  expect_only(attribution_of(sim::lab::machine(), whole.finish(), half.finish()), "residency",
              10_us);
}

// Two CTAs on one SM that each want all of its tensor pipe take twice as long as two that want half of it.
TEST(AttributionOfOneEffect, SmShareIsCtasThatSlowEachOther) {
  Kernels hungry, modest;
  for (int kernel = 0; kernel < 2; ++kernel) {
    hungry.add(8, half_sm, 8, 10_us, {.tensor_milli = 1000});
    modest.add(8, half_sm, 8, 10_us, {.tensor_milli = 500});
  }
  expect_only(attribution_of(sim::lab::machine(), hungry.finish(), modest.finish()), "sm_share",
              10_us);
}

// 8 CTAs of 1 MB at 1 TB/s take 8 us; two such kernels share the memory and take 16.
TEST(AttributionOfOneEffect, HbmShareIsKernelsThatShareTheMemory) {
  const auto kernel = [](int count) {
    Kernels kernels;
    for (int i = 0; i < count; ++i) kernels.add(8, half_sm, 8, 4_us, {}, 1_MB);
    return kernels.finish();
  };
  expect_only(attribution_of(sim::lab::machine({.memory = 1_TBps}), kernel(2), kernel(1)),
              "hbm_share", 8_us);
}

// Compute of 10 us on rank 0, and `copies` of 1 MB to it, 10 us each alone, from ranks 1, 2, ...
Program beside_copies(const Machine& machine, int copies) {
  ProgramBuilder b;
  const KernelId gemm = b.kernel("gemm", 8)
                            .footprint(sim::lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(8, 10_us)
                            .id();
  CallWriter thread = b.thread(sim::ProcessId(0));
  thread.launch(b.stream(RankId(0)), gemm);
  for (int copy = 1; copy <= copies; ++copy) {
    const auto from = static_cast<std::uint32_t>(copy);
    thread.copy(b.stream(RankId(from)), 0, sim::lab::route(machine, from, 0), 1_MB);
  }
  return b.finish();
}

// Each copy alone hides under the compute; both come in over one link, which carries them in 20 us.
TEST(AttributionOfOneEffect, LinkShareIsCopiesThatShareALink) {
  const Machine machine = sim::lab::machine({.devices = 3});
  expect_only(attribution_of(machine, beside_copies(machine, 2), beside_copies(machine, 0)),
              "link_share", 10_us);
}

// A copy before, after or between compute, which waits for it: exposed whole, and named by where it lies.
TEST(AttributionOfOneEffect, TransportIsBytesThatComputeWaitsFor) {
  const Machine machine = sim::lab::machine();
  // `order` is a letter a step of rank 0: k a kernel of 10 us, c a copy of 1 MB to its peer.
  const auto program = [&](std::string_view order) {
    ProgramBuilder b;
    const KernelId kernel = b.kernel("kernel", 8)
                                .footprint(sim::lab::whole_sm())
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(8, 10_us)
                                .id();
    CallWriter thread = b.thread(sim::ProcessId(0));
    const StreamId stream = b.stream(RankId(0));
    for (const char step : order) {
      if (step == 'k') {
        thread.launch(stream, kernel);
      } else {
        thread.copy(stream, 0, sim::lab::route(machine, 0, 1), 1_MB);
      }
    }
    return b.finish();
  };
  for (const auto& [order, where] :
       {std::pair{"ckk", "fill"}, {"kkc", "drain"}, {"kck", "link_bound"}}) {
    SCOPED_TRACE(order);
    const Attribution attribution = attribution_of(machine, program(order), program("kk"));
    expect_only(attribution, "transport", 10_us);
    EXPECT_EQ(part(attribution.transport, where), 10_us);
  }
}

// Four kernels for one pay three launches and drains more, 3 (3 + 1) us.
TEST(AttributionOfOneEffect, LaunchAndSyncIsWhatControlCosts) {
  const Machine machine = sim::lab::machine({.control = {.launch = 3_us, .kernel_drain = 1_us}});
  Kernels pieces;
  pieces.one_after_the_other();
  for (int piece = 0; piece < 4; ++piece) pieces.add(8, sim::lab::whole_sm(), 8, 4_us);
  expect_only(attribution_of(machine, pieces.finish(),
                             Kernels().add(8, sim::lab::whole_sm(), 32, 4_us).finish()),
              "launch_and_sync", 12_us);
}

// A device at four fifths of its speed takes 12.5 us for 10 us of work: the same program, 2.5 us longer.
TEST(AttributionOfOneEffect, ImbalanceIsASlowRank) {
  Machine machine = sim::lab::machine();
  machine.devices[0].speed_permille = 800;
  const Program program = beside_copies(machine, 0);
  expect_only(attribution_of(machine, program, program), "imbalance", 2.5_us);
}

// A copy that hides under compute as long as its link has its speed, and takes 20 us at half of it. No slow link
// without bytes that take time, and no exposed bytes without a slow link: half of the 10 us each.
TEST(AttributionOfTwoEffects, TransportAndASlowLinkShareWhatTheyCostTogether) {
  Machine machine = sim::lab::machine();
  machine.links[1].speed_permille = 500;  // into device 0
  const Attribution attribution =
      attribution_of(machine, beside_copies(machine, 1), beside_copies(machine, 0));
  EXPECT_EQ(part(attribution, "transport"), 5_us);
  EXPECT_EQ(part(attribution, "imbalance"), 5_us);
}

// A communication kernel holds every SM for 15 us, and the GEMM waits for it. With room for both it would cost
// nothing, and nothing if its bytes took no time: 7.5 us each, and none for any other effect.
TEST(AttributionOfTwoEffects, TransportAndResidencyShareWhatTheyCostTogether) {
  Kernels both;
  both.add(8, sim::lab::whole_sm(), 8, 15_us, {}, {}, Purpose::communication)
      .add(8, sim::lab::whole_sm(), 16, 10_us);
  const Attribution attribution =
      attribution_of(sim::lab::machine(), both.finish(),
                     Kernels().add(8, sim::lab::whole_sm(), 16, 10_us).finish());
  EXPECT_EQ(part(attribution, "transport"), 7.5_us);
  EXPECT_EQ(part(attribution, "residency"), 7.5_us);
  Duration sum;
  for (const Attribution::Part& each : attribution.parts) sum += each.time;
  EXPECT_EQ(sum, 15_us);
}

}  // namespace
}  // namespace weft::model
