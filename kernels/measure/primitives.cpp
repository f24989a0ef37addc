// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/primitives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "kernels/measure/fork.hpp"
#include "kernels/measure/move.hpp"
#include "kernels/measure/probes.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

/// Links of a chain whose end-to-end time is divided by their number.
constexpr int kChain = 100;
constexpr int kCopyChain = 8;

Times divided(Times times, int by) {
  for (Duration& time : times.each) time = Duration::from_ps(time.ps() / by);
  return times;
}

Times from_nanoseconds(const std::vector<std::int64_t>& values, const Times& frame) {
  Times times = frame;
  times.each.clear();
  for (const std::int64_t ns : values) times.each.push_back(Duration::from_ps(ns * 1000));
  times.began_ns.resize(times.each.size(), frame.began_ns.empty() ? 0 : frame.began_ns.front());
  times.ended_ns.resize(times.each.size(), frame.ended_ns.empty() ? 0 : frame.ended_ns.back());
  return times;
}

Times launches(Stage& stage, int warm_up, int repetitions) {
  return divided(stage.timer().measure(
                     [](int, cudaStream_t stream) {
                       for (int i = 0; i < kChain; ++i) launch_stamp(nullptr, 0, 1, stream);
                     },
                     warm_up, repetitions),
                 kChain);
}

/// By how much the second of two kernels that one event releases starts after the first.
Times launch_race(Stage& stage, int warm_up, int repetitions) {
  constexpr int kMany = 5;
  auto* stamps = reinterpret_cast<Stamp*>(stage.scratch(0, 2 * sizeof(Stamp)));
  cudaStream_t other = stage.memory().stream(0, StreamRole::communication);
  Joints joints(stage);
  std::vector<std::int64_t> apart;
  const Enqueue both = [&](int, cudaStream_t stream) {
    joints.join(0, stream, 0, other);
    launch_stamp(stamps, 0, 1, stream);
    launch_stamp(stamps + 1, 0, 1, other);
    joints.join(0, other, 0, stream);
  };
  stage.timer().once(both);
  Times frame;
  for (int i = 0; i < warm_up + repetitions * kMany; ++i) {
    frame = stage.timer().measure(both, 0, 1);
    Stamp seen[2];
    WEFT_CUDA(cudaMemcpy(seen, stamps, sizeof seen, cudaMemcpyDefault));
    if (i >= warm_up)
      apart.push_back(std::abs(static_cast<std::int64_t>(seen[0].start_ns) -
                               static_cast<std::int64_t>(seen[1].start_ns)));
  }
  return from_nanoseconds(apart, frame);
}

Times event_hops(Stage& stage, int warm_up, int repetitions) {
  cudaStream_t other = stage.memory().stream(0, StreamRole::communication);
  Joints joints(stage);
  return divided(stage.timer().measure(
                     [&](int, cudaStream_t stream) {
                       for (int i = 0; i < kChain / 2; ++i) {
                         launch_stamp(nullptr, 0, 1, stream);
                         joints.join(0, stream, 0, other);
                         launch_stamp(nullptr, 0, 1, other);
                         joints.join(0, other, 0, stream);
                       }
                     },
                     warm_up, repetitions),
                 kChain);
}

Times stream_writes(Stage& stage, int warm_up, int repetitions) {
  Signal* flag = stage.flags(0, 1);
  return divided(stage.timer().measure(
                     [&](int, cudaStream_t stream) {
                       for (int i = 0; i < kChain; ++i)
                         stage.memory().post(flag, stage.next_sequence(), stream);
                     },
                     warm_up, repetitions),
                 kChain);
}

/// From a stream's write of a flag to the next kernel of a stream that waits for it, kernel included.
Times signal_hops(Stage& stage, int warm_up, int repetitions) {
  cudaStream_t other = stage.memory().stream(0, StreamRole::communication);
  Signal* flag = stage.flags(0, 1);
  const Times times = stage.timer().measure(
      [&](int, cudaStream_t stream) {
        for (int i = 0; i < kChain / 2; ++i) {
          for (const auto& [from, to] : {std::pair(stream, other), std::pair(other, stream)}) {
            launch_stamp(nullptr, 0, 1, from);
            const Signal value = stage.next_sequence();
            stage.memory().post(flag, value, from);
            stage.memory().wait(flag, value, to);
          }
        }
      },
      warm_up, repetitions);
  return divided(times, kChain);
}

/// One way between two SMs through a flag in device memory.
Times flags(Stage& stage, int warm_up, int repetitions) {
  Signal* flags = stage.flags(0, 64);
  auto* elapsed = reinterpret_cast<std::uint64_t*>(stage.scratch(0, sizeof(std::uint64_t)));
  std::vector<std::int64_t> each;
  Signal base = 0;
  const Enqueue play = [&](int, cudaStream_t stream) {
    launch_ping_pong(flags, base, kChain, elapsed, stream);
    base += kChain;
  };
  stage.timer().once(play);
  Times frame;
  for (int i = 0; i < warm_up + repetitions; ++i) {
    frame = stage.timer().measure(play, 0, 1);
    std::uint64_t ns = 0;
    WEFT_CUDA(cudaMemcpy(&ns, elapsed, sizeof ns, cudaMemcpyDefault));
    if (ns == 0) throw std::runtime_error("a flag was not answered within a second");
    if (i >= warm_up) each.push_back(static_cast<std::int64_t>(ns));
  }
  return divided(from_nanoseconds(each, frame), 2 * kChain);
}

/// One way between two GPUs through flags in each other's memory.
Times peer_flags(Stage& stage, int warm_up, int repetitions) {
  const SymmetricMemory& memory = stage.memory();
  if (stage.running().size() < 2)
    throw std::invalid_argument("a flag between GPUs needs a peer that runs");
  Signal* mine = stage.flags(0, 32);
  Signal* theirs = stage.flags(1, 32);
  auto* elapsed = reinterpret_cast<std::uint64_t*>(stage.scratch(0, sizeof(std::uint64_t)));
  cudaStream_t other = memory.stream(1, StreamRole::compute);
  Joints joints(stage);
  std::vector<std::int64_t> each;
  Signal base = 0;
  const Enqueue play = [&](int, cudaStream_t stream) {
    joints.join(0, stream, 1, other);
    memory.enter(1);
    launch_ping_pong_side(theirs, mine, false, base, kChain, nullptr, other);
    memory.enter(0);
    launch_ping_pong_side(mine, theirs, true, base, kChain, elapsed, stream);
    base += kChain;
    joints.join(1, other, 0, stream);
  };
  stage.timer().once(play);
  Times frame;
  for (int i = 0; i < warm_up + repetitions; ++i) {
    frame = stage.timer().measure(play, 0, 1);
    std::uint64_t ns = 0;
    WEFT_CUDA(cudaMemcpy(&ns, elapsed, sizeof ns, cudaMemcpyDefault));
    if (ns == 0) throw std::runtime_error("a flag was not answered within a second");
    if (i >= warm_up) each.push_back(static_cast<std::int64_t>(ns));
  }
  return divided(from_nanoseconds(each, frame), 2 * kChain);
}

Move move_of(Stage& stage, const std::string& direction, std::int64_t bytes) {
  if (direction == "to_device")
    return {stage.shared_random(bytes).at[1], stage.scratch(0, bytes), 1, 0, bytes};
  if (direction == "to_host")
    return {stage.random(0, bytes), stage.shared_scratch(bytes).at[1], 0, 1, bytes};
  return {stage.random(0, bytes), stage.scratch(0, bytes), 0, 0, bytes};
}

Times copies(Stage& stage, const Case& what, int warm_up, int repetitions) {
  const Cut cut{.mover = Mover::copy_engine};
  const auto copy = [&](const std::string& direction) {
    return make_moves(stage, 0, {move_of(stage, direction, *what.bytes)}, cut);
  };
  if (what.variant == "single" || what.variant == "chain") {
    const int links = what.variant == "chain" ? kCopyChain : 1;
    const auto one = copy(what.direction);
    return divided(stage.timer().measure(
                       [&](int, cudaStream_t stream) {
                         for (int i = 0; i < links; ++i) one(stream);
                       },
                       warm_up, repetitions),
                   links);
  }
  // Two at once on two streams, each of all the bytes; the time is until both are done.
  const bool both = what.direction == "both";
  const auto first = copy(both ? "to_device" : what.direction);
  const auto second = copy(both ? "to_host" : what.direction);
  cudaStream_t other = stage.memory().stream(0, StreamRole::communication);
  Joints joints(stage);
  return stage.timer().measure(
      [&](int, cudaStream_t stream) {
        joints.join(0, stream, 0, other);
        first(stream);
        second(other);
        joints.join(0, other, 0, stream);
      },
      warm_up, repetitions);
}

Times sm_moves(Stage& stage, const Case& what, int warm_up, int repetitions) {
  // One CTA moves tens of gigabytes a second: large payloads for few CTAs would only take long.
  const std::int64_t bytes = *what.bytes;
  const Cut cut{.mover = Mover::ctas,
                .ctas = what.ctas.value_or(1),
                .pace_bytes_per_second = what.pace_bytes_per_second.value_or(0),
                .in_flight_bytes = what.in_flight_bytes.value_or(0)};
  const Move move = move_of(stage, what.direction, bytes);
  const auto work =
      what.operation == "sm_copy"
          ? make_moves(stage, 0, {move}, cut)
          : make_sum(stage, 0, {move.source, stage.random(0, bytes)}, move.target, bytes, cut.ctas);
  return stage.timer().measure([&](int, cudaStream_t stream) { work(stream); }, warm_up,
                               repetitions);
}

}  // namespace

Times run_primitive(Stage& stage, const Case& what, int warm_up, int repetitions) {
  if (what.operation == "launch") return launches(stage, warm_up, repetitions);
  if (what.operation == "launch_race") return launch_race(stage, warm_up, repetitions);
  if (what.operation == "event_hop") return event_hops(stage, warm_up, repetitions);
  if (what.operation == "stream_write") return stream_writes(stage, warm_up, repetitions);
  if (what.operation == "signal_hop") return signal_hops(stage, warm_up, repetitions);
  if (what.operation == "peer_flag") return peer_flags(stage, warm_up, repetitions);
  if (what.operation == "flag") return flags(stage, warm_up, repetitions);
  if (what.operation == "copy") return copies(stage, what, warm_up, repetitions);
  if (what.operation == "sm_copy" || what.operation == "sm_sum")
    return sm_moves(stage, what, warm_up, repetitions);
  throw std::invalid_argument("no primitive " + what.operation);
}

}  // namespace weft::kernels
