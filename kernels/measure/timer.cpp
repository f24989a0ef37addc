// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/timer.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "kernels/memory/check.hpp"

namespace weft::kernels {

Timer::Timer(const SymmetricMemory& memory, int rank)
    : memory_(memory), rank_(rank), stream_(memory.stream(rank, StreamRole::compute)) {
  memory_.enter(rank_);
  void* gate = nullptr;
  WEFT_CUDA(cudaHostAlloc(&gate, sizeof(Signal), cudaHostAllocPortable | cudaHostAllocMapped));
  gate_ = static_cast<Signal*>(gate);
  *gate_ = 0;
}

Timer::~Timer() {
  for (cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
  static_cast<void>(cudaFreeHost(gate_));
}

cudaEvent_t Timer::event(std::size_t index) {
  while (events_.size() <= index) {
    cudaEvent_t made = nullptr;
    WEFT_CUDA(cudaEventCreate(&made));
    events_.push_back(made);
  }
  return events_[index];
}

void Timer::close_gate() {
  memory_.wait(gate_, ++opened_, stream_);
}

void Timer::open_gate() {
  std::atomic_ref<Signal>(*gate_).store(opened_, std::memory_order_release);
}

std::vector<Times> Timer::interleave(const std::vector<Enqueue>& work, int warm_up, int repetitions,
                                     int rest) {
  memory_.enter(rank_);
  std::vector<Times> times(work.size());
  for (int i = -warm_up; i < repetitions; ++i) {
    for (std::size_t w = 0; w < work.size(); ++w) {
      const std::size_t at = 2 * (static_cast<std::size_t>(std::max(i, 0)) * work.size() + w);
      // The first launch of a kernel may load it and wait for the device: no gate is closed then.
      const bool gated = i >= 0;
      if (gated) close_gate();
      try {
        WEFT_CUDA(cudaEventRecord(event(at), stream_));
        work[w](i + warm_up, stream_);
        memory_.enter(rank_);
        WEFT_CUDA(cudaEventRecord(event(at + 1), stream_));
      } catch (...) {
        if (gated) open_gate();
        throw;
      }
      if (gated) open_gate();
      if (gated) times[w].began_ns.push_back(steady_ns());
      if (rest > 0) {
        const std::int64_t began = steady_ns();
        WEFT_CUDA(cudaStreamSynchronize(stream_));
        std::this_thread::sleep_for(std::chrono::nanoseconds(rest * (steady_ns() - began)));
      }
    }
  }
  WEFT_CUDA(cudaStreamSynchronize(stream_));
  const std::int64_t end = steady_ns();
  for (std::size_t w = 0; w < work.size(); ++w) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(repetitions); ++i) {
      const std::size_t at = 2 * (i * work.size() + w);
      float milliseconds = 0;
      WEFT_CUDA(cudaEventElapsedTime(&milliseconds, event(at), event(at + 1)));
      times[w].each.push_back(
          Duration::from_ps(std::llround(static_cast<double>(milliseconds) * 1e9)));
      const bool last = i + 1 == static_cast<std::size_t>(repetitions);
      times[w].ended_ns.push_back(last ? end : times[w].began_ns[i + 1]);
    }
  }
  return times;
}

Times Timer::measure(const Enqueue& work, int warm_up, int repetitions) {
  return interleave({work}, warm_up, repetitions).front();
}

void Timer::once(const Enqueue& work) {
  memory_.enter(rank_);
  work(0, stream_);
  memory_.enter(rank_);
  WEFT_CUDA(cudaStreamSynchronize(stream_));
}

}  // namespace weft::kernels
