// SPDX-License-Identifier: Apache-2.0
// The textbook arithmetic of overlap, from programs.
#include <algorithm>

#include <gtest/gtest.h>

#include "sim/controls.hpp"
#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

// One SM and one copy engine: n chunks of `compute`, each then sent for `communication`. Serial: one
// stream. Pipelined: the copies on a stream of their own, each after its chunk's event.
Program pipeline(const Machine& machine, int chunks, Duration compute, Bytes bytes, bool serial) {
  ProgramBuilder b;
  const KernelId chunk =
      b.kernel("chunk", 1).role(Purpose::compute, TileOrder::static_shares).range(1, compute).id();
  const StreamId main = b.stream(RankId(0));
  const StreamId side = serial ? main : b.stream(RankId(0));
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < chunks; ++i) {
    calls.launch(main, chunk);
    if (!serial) {
      const EventId done = b.event();
      calls.record(main, done).wait(side, done);
    }
    calls.copy(side, 0, lab::route(machine, 0, 1), bytes);
  }
  return b.finish();
}

Machine one_of_each() {
  return lab::machine({.sms_per_gpc = {1}, .memory = 1_TBps, .link = 1_GBps});
}

// Serial n (c + m); pipelined c + (n - 1) max(c, m) + m:
// 4 x (3 + 2) = 20 and 3 + 3 x 3 + 2 = 14 ms; 4 x (1 + 5) = 24 and 1 + 3 x 5 + 5 = 21 ms.
TEST(Pipeline, FourChunks) {
  const Machine machine = one_of_each();
  const Effects ideal = effects_of(Fidelity::ideal);
  for (const Effects& effects : {ideal, effects_of(Fidelity::alpha_beta), Effects()}) {
    EXPECT_EQ(lab::end_of(machine, pipeline(machine, 4, 3_ms, 2_MB, true), effects), 20_ms);
    EXPECT_EQ(lab::end_of(machine, pipeline(machine, 4, 3_ms, 2_MB, false), effects), 14_ms);
    EXPECT_EQ(lab::end_of(machine, pipeline(machine, 4, 1_ms, 5_MB, true), effects), 24_ms);
    EXPECT_EQ(lab::end_of(machine, pipeline(machine, 4, 1_ms, 5_MB, false), effects), 21_ms);
  }
}

// At ideal the pipelined time lies within [max(A_s, B_s), A_s + B_s].
TEST(Pipeline, LiesBetweenItsControls) {
  const Machine machine = one_of_each();
  const Effects ideal = effects_of(Fidelity::ideal);
  for (int chunks = 1; chunks <= 9; ++chunks) {
    for (const std::int64_t megabytes : {1, 3, 7}) {
      const Program program =
          pipeline(machine, chunks, 3_ms, Bytes::from(1'000'000 * megabytes), false);
      const Duration a = lab::end_of(machine, without_communication(program), ideal);
      const Duration b = lab::end_of(machine, without_compute(program), ideal);
      const Duration d = lab::end_of(machine, program, ideal);
      EXPECT_EQ(a, 3_ms * chunks);
      EXPECT_EQ(b, 1_ms * megabytes * chunks);
      EXPECT_GE(d, std::max(a, b));
      EXPECT_LE(d, a + b);
    }
  }
}

// Bulk overlap: 4 CTAs of an independent GEMM that moves 200 MB in its 100 us, beside a collective
// of 4 CTAs that moves 100 MB at 5/3 TB/s, 60 us.
Program bulk() {
  ProgramBuilder b;
  const KernelId gemm = b.kernel("gemm", 4)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(4, 100_us)
                            .memory(MemoryId(0), 50_MB)
                            .id();
  const GangId gang =
      b.gang("all_reduce", 100_MB, Bandwidth::from_bytes_per_second(1'666'666'666'667))
          .member(RankId(0))
          .memory(MemoryId(0), 1)
          .id();
  const KernelId collective =
      b.gang_kernel("all_reduce", gang, 0, 4).footprint(lab::whole_sm()).id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), collective).launch(b.stream(RankId(0)), gemm);
  return b.finish();
}

// 100 us and 60 us overlapped without contention, on a memory of 4 TB/s: 100 us, at every rung.
TEST(Overlap, IsTheLongerOfTheTwoWithoutContention) {
  const Machine machine = lab::machine();
  for (const Fidelity rung : {Fidelity::ideal, Fidelity::alpha_beta, Fidelity::contended}) {
    EXPECT_EQ(lab::end_of(machine, bulk(), effects_of(rung)), 100_us);
  }
}

// On a memory of 2 TB/s the GEMM needs all of it and the collective 5/6. With as many CTAs each
// they get half: the collective's 100 MB take 100 us, by when half of the GEMM's 200 MB are
// through; the rest goes alone. 100 + 50 = 150 us.
TEST(Overlap, ContentionMakesTheGemmTake150) {
  const Machine machine = lab::machine({.memory = 2_TBps});
  EXPECT_EQ(lab::end_of(machine, without_communication(bulk())), 100_us);
  EXPECT_EQ(lab::end_of(machine, without_compute(bulk())), 60_us);
  EXPECT_EQ(lab::end_of(machine, bulk(), effects_of(Fidelity::ideal)), 100_us);
  lab::Tape tape;
  EXPECT_EQ(lab::run(machine, bulk(), tape).end.since_start(), 150_us);
  EXPECT_EQ(tape.command(0).end.since_start(), 100_us);
}

// T(S_comm) = max(T_compute(S - S_comm), T_comm(S_comm)): 44 tiles of 10 us on 24 SMs less the
// margin, and a copy of about 11.5 MB (a multiple of every margin) at 40 GB/s a CTA over a link of
// 400 GB/s. ceil(44 / (24 - s)) is 2 waves up to s = 2, 3 up to 9, 4 from 10 on: the best margin, 9
// CTAs, is not the one with the highest bandwidth, 10 CTAs, which costs the GEMM a fourth wave.
TEST(Margin, TheBestIsFoundAmongTheWaveSteps) {
  const Machine machine = lab::machine({.sms_per_gpc = {12, 12}, .link = 400_GBps});
  constexpr Bytes kMessage = 720'720_B * 16;
  Duration best = Duration::max();
  int best_margin = 0;
  for (int margin = 1; margin <= 16; ++margin) {
    const Bytes share = kMessage / margin;
    ProgramBuilder b;
    const KernelId copy = b.kernel("copy", margin)
                              .footprint(lab::whole_sm())
                              .role(Purpose::communication, TileOrder::static_shares)
                              .range(margin, share / 40_GBps)
                              .route(lab::route(machine, 0, 1), share)
                              .id();
    const KernelId gemm = b.kernel("gemm", 24 - margin)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(44, 10_us)
                              .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), copy).launch(b.stream(RankId(0)), gemm);
    const Duration time = lab::end_of(machine, b.finish());
    const int waves = (44 + 24 - margin - 1) / (24 - margin);
    const Duration communication = std::max(share / 40_GBps, kMessage / 400_GBps);
    EXPECT_EQ(time, std::max(10_us * waves, communication)) << "margin " << margin;
    if (time < best) {
      best = time;
      best_margin = margin;
    }
  }
  EXPECT_EQ(best_margin, 9);
}

}  // namespace
}  // namespace weft::sim
