// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"
#include "kernels/sm90/control.cuh"
#include "kernels/sm90/workspace.hpp"

namespace weft::kernels {

struct Workspace::State {
  explicit State(int its_rank) : rank(its_rank) {
    WEFT_CUDA(cudaMalloc(&device.control, sizeof(Control)));
    WEFT_CUDA(cudaMemset(device.control, 0, sizeof(Control)));
    WEFT_CUDA(cudaHostAlloc(&device.record, sizeof(WaitRecord), cudaHostAllocMapped));
    *device.record = {};
    WEFT_CUDA(cudaDeviceSynchronize());
  }
  ~State() {
    cudaFree(device.control);
    cudaFreeHost(device.record);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int rank;
  Device device;
};

Workspace::Workspace(int rank) : state_(std::make_unique<State>(rank)) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

int Workspace::rank() const {
  return state_->rank;
}
const Workspace::Device& Workspace::device() const {
  return state_->device;
}
Signal* Workspace::phase() const {
  return &state_->device.control->phase;
}

std::optional<WaitError> Workspace::error() const {
  const WaitRecord* record = state_->device.record;
  if (__atomic_load_n(&record->ready, __ATOMIC_ACQUIRE) == 0) return std::nullopt;
  return WaitError{static_cast<WaitKind>(record->kind),
                   record->rank,
                   record->cta,
                   record->source,
                   record->chunk,
                   record->expected,
                   record->seen,
                   record->waited_ns};
}

void Workspace::clear() {
  WEFT_CUDA(cudaMemset(&state_->device.control->aborted, 0, sizeof(std::uint32_t)));
  WEFT_CUDA(cudaDeviceSynchronize());
  *state_->device.record = {};
}

std::string WaitError::text() const {
  const char* what = "";
  switch (kind) {
    case WaitKind::none:
      what = "nothing";
      break;
    case WaitKind::gathered_chunk:
      what = "a gathered chunk";
      break;
    case WaitKind::peer_shard:
      what = "a peer's shard";
      break;
    case WaitKind::partial:
      what = "a partial product";
      break;
    case WaitKind::result:
      what = "a reduced result";
      break;
    case WaitKind::part_of_depth:
      what = "the sums of another part of K";
      break;
  }
  return "rank " + std::to_string(rank) + ", CTA " + std::to_string(cta) + ": waited " +
         std::to_string(waited_ns / 1'000) + " us for " + what + ", chunk " +
         std::to_string(chunk) + " of rank " + std::to_string(source) + ": expected sequence " +
         std::to_string(expected) + ", saw " + std::to_string(seen);
}

}  // namespace weft::kernels
