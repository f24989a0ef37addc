// SPDX-License-Identifier: Apache-2.0
// Times work that was enqueued whole before it starts: each repetition waits at a gate, so that the
// host's launch rate is in no time but where a launch is what is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/measure/conditions.hpp"
#include "kernels/memory/symmetric_memory.hpp"
#include "sim/units/time.hpp"

namespace weft::kernels {

/// Enqueues repetition `repetition` so that it begins behind, and ends before, what `stream` does.
using Enqueue = std::function<void(int repetition, cudaStream_t stream)>;

/// The repetitions of one piece of work.
struct Times {
  std::vector<Duration> each;
  std::vector<std::int64_t> began_ns;  ///< steady clock, when the host let the repetition go
  std::vector<std::int64_t> ended_ns;  ///< and when the next one was let go, or all were done
};

/// Measures on one stream of one device.
class Timer {
 public:
  explicit Timer(const SymmetricMemory& memory, int rank = 0);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Runs the pieces of work in turn, `warm_up` times untimed and then `repetitions` times, each followed by
  /// `rest` times as long without work: the device then draws less than its power limit on average, and its
  /// clock is that of work which comes now and then, instead of what earlier work left of the limit.
  std::vector<Times> interleave(const std::vector<Enqueue>& work, int warm_up, int repetitions,
                                int rest = 0);
  /// One piece alone.
  Times measure(const Enqueue& work, int warm_up, int repetitions);
  /// Enqueues once, and waits for the end.
  void once(const Enqueue& work);

 private:
  cudaEvent_t event(std::size_t index);
  void close_gate();
  void open_gate();

  const SymmetricMemory& memory_;
  int rank_;
  cudaStream_t stream_;
  Signal* gate_ = nullptr;
  Signal opened_ = 0;
  std::vector<cudaEvent_t> events_;
};

}  // namespace weft::kernels
