// SPDX-License-Identifier: Apache-2.0
#include "calibration/import/gpu_trace.hpp"

#include <algorithm>

namespace weft::calibration {
namespace {

/// Kernels that communicate, by a part of their name; the first that fits counts.
struct KernelName {
  std::string_view part;
  std::string_view collective;
};
constexpr KernelName kKernelNames[] = {
    {"AllReduce", "AllReduce"}, {"AllGather", "AllGather"}, {"ReduceScatter", "ReduceScatter"},
    {"AllToAll", "AllToAll"},   {"SendRecv", "SendRecv"},   {"Broadcast", "Broadcast"},
    {"Reduce", "Reduce"},
};
constexpr KernelName kOtherNames[] = {
    {"cross_device_reduce", "AllReduce"},      // vLLM's custom all-reduce
    {"allreduce_fusion_kernel", "AllReduce"},  // TensorRT-LLM, FlashInfer
    {"oneShotAllReduce", "AllReduce"},         // TensorRT-LLM
    {"twoShotAllReduce", "AllReduce"},
    {"multimem_all_reduce", "AllReduce"},  // PyTorch symmetric memory
    {"multimem_all_gather", "AllGather"},
    {"one_shot_all_reduce", "AllReduce"},
    {"two_shot_all_reduce", "AllReduce"},
    {"userbuffers_fp16_sum_inplace_gpu_rw", "AllReduce"},  // Transformer Engine
    {"userbuffers_fp16_sum_inplace_gpu_rr_rs", "ReduceScatter"},
    {"userbuffers_fp16_sum_inplace_gpu_mc_rs", "ReduceScatter"},
    {"userbuffers_fp16_sum_inplace_gpu_rr_ag", "AllGather"},
    {"userbuffers_fp16_sum_inplace_gpu_mc_ag", "AllGather"},
    {"kuserbuffers_pushrecv", "SendRecv"},
    {"kuserbuffers_pullsend", "SendRecv"},
    {"kuserbuffers_pushsend", "SendRecv"},
    {"deep_ep::", "AllToAll"},
    {"nvshmemi_", "NVSHMEM"},
};

}  // namespace

std::optional<std::string> communication_of(std::string_view kernel) {
  // "void ncclDevKernel_..." in demangled names; "ncclKernel_..." before 2.19, "ncclSymk" since 2.27.
  std::string_view name = kernel;
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.starts_with("nccl")) {
    for (const KernelName& each : kKernelNames) {
      if (name.find(each.part) != std::string_view::npos) return std::string(each.collective);
    }
    return "NCCL";
  }
  for (const KernelName& each : kOtherNames) {
    if (name.find(each.part) != std::string_view::npos) return std::string(each.collective);
  }
  return std::nullopt;
}

std::uint32_t OperationIndex::of(const Operation& operation) {
  const auto [place, fresh] =
      known_.emplace(operation, static_cast<std::uint32_t>(trace_.operations.size()));
  if (fresh) trace_.operations.push_back(operation);
  return place->second;
}

}  // namespace weft::calibration
