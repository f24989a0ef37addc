// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/fork.hpp"

#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

/// More than any case records in one repetition, so that a reused event is no longer waited for.
constexpr std::size_t kEvents = 2048;
constexpr StreamRole kRoles[] = {StreamRole::compute, StreamRole::communication, StreamRole::copy};

}  // namespace

Joints::~Joints() {
  for (const auto& of_rank : events_)
    for (cudaEvent_t event : of_rank) static_cast<void>(cudaEventDestroy(event));
}

cudaEvent_t Joints::record(int rank, cudaStream_t from) {
  const auto at = static_cast<std::size_t>(rank);
  if (events_.size() <= at) {
    events_.resize(at + 1);
    next_.resize(at + 1, 0);
  }
  stage_.memory().enter(rank);
  auto& pool = events_[at];
  const std::size_t index = next_[at];
  next_[at] = (index + 1) % kEvents;
  if (pool.size() <= index) {
    cudaEvent_t made = nullptr;
    WEFT_CUDA(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    pool.push_back(made);
  }
  WEFT_CUDA(cudaEventRecord(pool[index], from));
  return pool[index];
}

void Joints::join(int from_rank, cudaStream_t from, int to_rank, cudaStream_t to) {
  cudaEvent_t event = record(from_rank, from);
  stage_.memory().enter(to_rank);
  WEFT_CUDA(cudaStreamWaitEvent(to, event));
}

void Joints::fork(cudaStream_t timed) {
  cudaEvent_t event = record(stage_.running().front(), timed);
  for (const int rank : stage_.running()) {
    stage_.memory().enter(rank);
    for (const StreamRole role : kRoles)
      if (cudaStream_t stream = stage_.memory().stream(rank, role); stream != timed)
        WEFT_CUDA(cudaStreamWaitEvent(stream, event));
  }
}

void Joints::merge(cudaStream_t timed) {
  for (const int rank : stage_.running())
    for (const StreamRole role : kRoles)
      if (cudaStream_t stream = stage_.memory().stream(rank, role); stream != timed)
        join(rank, stream, stage_.running().front(), timed);
}

}  // namespace weft::kernels
