// SPDX-License-Identifier: Apache-2.0
// The groups of ranks that a runner sets up, and what is proved on them.
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>

#include "kernels/baseline/nccl_windows.hpp"
#include "kernels/measure/mps.hpp"
#include "kernels/measure/runner.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

constexpr std::size_t kMiB = std::size_t{1} << 20;

int device_count() {
  int count = 0;
  WEFT_CUDA(cudaGetDeviceCount(&count));
  return count;
}

StageSize size_for(const std::string& backend, int ranks) {
  if (backend == "virtual_ranks") return {3072 * kMiB, 6144 * kMiB, 1024 * kMiB, 2048 * kMiB};
  if (backend.starts_with("peer_gpus"))
    return {6144 * kMiB, 12288 * kMiB, 2048 * kMiB, 4096 * kMiB};
  if (backend == "nccl_processes") return {2048 * kMiB, 2048 * kMiB, 512 * kMiB, 512 * kMiB};
  // Host peers: their shards and slots are pinned memory, and together as large as one rank's.
  const std::size_t shared = ranks <= 2 ? 1536 * kMiB : ranks <= 4 ? 768 * kMiB : 384 * kMiB;
  return {8192 * kMiB, 16384 * kMiB, shared, shared};
}

std::unique_ptr<SymmetricMemory> memory_for(const std::string& backend, int ranks,
                                            const Nccl* nccl) {
  if (backend == "virtual_ranks") return make_virtual_ranks(ranks);
  if (backend == "peer_gpus" || backend == "peer_gpus_mapped" || backend == "peer_gpus_window") {
    if (device_count() < ranks)
      throw std::runtime_error("there are fewer than " + std::to_string(ranks) + " GPUs");
    std::vector<int> devices;
    for (int device = 0; device < ranks; ++device) devices.push_back(device);
    if (backend == "peer_gpus_window") {
      if (nccl == nullptr) throw std::runtime_error("NCCL is not here, nor are its windows");
      return make_window_peers(*nccl, devices);
    }
    return make_peer_gpus(devices,
                          backend == "peer_gpus" ? PeerMapping::access : PeerMapping::mapped);
  }
  if (backend.empty() || backend == "host_link") return make_host_link(ranks);
  throw std::invalid_argument("no back end " + backend);
}

}  // namespace

Stage& Runner::stage_for(const Case& what) {
  const int ranks = what.ranks.value_or(2);
  const std::string backend = what.backend.empty() ? "host_link" : what.backend;
  const std::string name = backend + "/" + std::to_string(ranks);
  if (!stage_ || stage_name_ != name) {
    stage_.reset();
    stage_name_.clear();
    if (backend != "nccl_processes")
      stage_ = std::make_unique<Stage>(memory_for(backend, ranks, nccl_.get()),
                                       size_for(backend, ranks), library_.get(), nccl_.get());
    else if (joined_ != nullptr && ranks == ranks_)
      stage_ = std::make_unique<Stage>(make_process_rank(rank_, ranks), size_for(backend, ranks),
                                       library_.get(), *joined_);
    else
      throw std::invalid_argument("this process is no rank of " + std::to_string(ranks));
    stage_name_ = name;
  }
  stage_->reset();
  return *stage_;
}

Verdicts Runner::prove(const Proof& proof) {
  Case what;
  what.backend = proof.backend;
  what.ranks = proof.ranks;
  return weft::kernels::prove(stage_for(what));
}

MachineView Runner::view() {
  MachineView machine;
  machine.devices = device_count();
  for (int from = 0; from < machine.devices; ++from) {
    std::vector<bool> reaches;
    for (int to = 0; to < machine.devices; ++to) {
      int can = 1;
      if (from != to) WEFT_CUDA(cudaDeviceCanAccessPeer(&can, from, to));
      reaches.push_back(can != 0);
    }
    machine.reaches.push_back(std::move(reaches));
  }
  try {
    const Nccl nccl;
    machine.nccl_windows = windows_missing(nccl).empty();
    machine.nccl_processes = MpsService::here();
  } catch (const std::runtime_error&) {
    // Without NCCL there is neither.
    machine.nccl_windows = machine.nccl_processes = false;
  }
  return machine;
}

}  // namespace weft::kernels
