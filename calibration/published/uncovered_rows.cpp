// SPDX-License-Identifier: Apache-2.0
// Published rows that are not predicted, each with its reason, and rows that contradict each other or physics.
#include <array>

#include "calibration/published/rows.hpp"

namespace weft::calibration {
namespace {

constexpr std::string_view moe = "not yet covered: no schedule of experts";
constexpr std::string_view two_nodes = "FLUX's own form between nodes is not in the catalogue";
constexpr std::string_view four_nics = "no machine file of one GPU and four NICs a node";
constexpr std::string_view no_count = "how many GPUs and nodes is not stated";
constexpr std::string_view no_machine = "no machine file of it";
constexpr std::string_view host_time = "the time is the host's: it hardly depends on the size";
constexpr std::string_view steps = "a step on the way to a kernel that weft does not ship";
constexpr std::string_view instruction = "the rate of an instruction, not of a product";

constexpr std::string_view flux_tables = "bytedance/flux:docs/performance.md at 19831ca";
constexpr std::string_view flux_tuning = "bytedance/flux:docs/tuning_guide.md at 19831ca";
constexpr std::string_view deepep = "deepseek-ai/DeepEP:docs/legacy.md, README.md at dd758ca";
constexpr std::string_view flux_charts_ag =
    "ByteDance-Seed/Triton-distributed:asset/ag-gemm-internode-perf.png at 1512a81";
constexpr std::string_view flux_charts_rs =
    "ByteDance-Seed/Triton-distributed:asset/gemm-rs-internode-perf.png at 1512a81";
constexpr std::string_view pytorch_gathers = "github.com/pytorch/pytorch/pull/182850";

constexpr std::array uncovered = std::to_array<PublishedUncovered>({
    {"FLUX AG+GEMM on two nodes of 8 H800, 8192 x 49152 x 12288", "1.52x", two_nodes,
     flux_charts_ag},
    {"FLUX AG+GEMM on two nodes of 8 H800, 16384 x 49152 x 12288", "1.50x", two_nodes,
     flux_charts_ag},
    {"FLUX GEMM+RS on two nodes of 8 H800, 4096 x 12288 x 49152", "1.30x", two_nodes,
     flux_charts_rs},
    {"FLUX GEMM+RS on two nodes of 8 H800, 8192 x 12288 x 49152", "1.39x", two_nodes,
     flux_charts_rs},
    {"FLUX GEMM+RS on two nodes of 8 H800, 16384 x 12288 x 49152", "1.43x", two_nodes,
     flux_charts_rs},
    {"FLUX MoE AGScatter on sm_90, 1024 x 1024 x 8192, Cooperative 128x256x64 cluster 1x1x1 AlongM",
     "1.15 ms", moe, flux_tuning},
    {"FLUX MoE AGScatter on sm_90, 1024 x 1024 x 8192, Cooperative 128x256x64 cluster 2x1x1 AlongN",
     "1.15 ms", moe, flux_tuning},
    {"FLUX MoE AGScatter on sm_90, 1024 x 1024 x 8192, Cooperative 128x256x64 cluster 2x1x1 AlongM",
     "1.16 ms", moe, flux_tuning},
    {"FLUX MoE AGScatter on sm_90, 1024 x 1024 x 8192, Cooperative 128x256x64 cluster 1x1x1 AlongN",
     "1.17 ms", moe, flux_tuning},
    {"FLUX MoE AGScatter on sm_90, 1024 x 1024 x 8192, PingPong 64x256x64 cluster 1x1x1 AlongM",
     "1.33 ms", moe, flux_tuning},
    {"FLUX MoE GatherRS topk4 on sm_90, 8192 x 1024 x 1024, Cooperative 128x256x64 cluster 1x1x1 "
     "Heuristic 26 CTAs",
     "1.87 ms", moe, flux_tuning},
    {"FLUX MoE GatherRS topk4 on sm_90, 8192 x 1024 x 1024, Cooperative 128x256x64 cluster 1x1x1 "
     "Heuristic 28 CTAs",
     "1.88 ms", moe, flux_tuning},
    {"FLUX MoE GatherRS topk4 on sm_90, 8192 x 1024 x 1024, Cooperative 128x256x64 cluster 1x1x1 "
     "Heuristic 30 CTAs",
     "1.91 ms", moe, flux_tuning},
    {"FLUX MoE layer0 on 8 L20, 8192 x 8192 x 8192, tp 8 ep 1, 32 experts, top 4",
     "26.792 -> 7.813 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 L20, 8192 x 8192 x 8192, tp 8 ep 1, 32 experts, top 4",
     "42.092 -> 7.976 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 H800, 8192 x 8192 x 8192, tp 8 ep 1, 32 experts, top 4",
     "4.702 -> 1.146 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 H800, 8192 x 8192 x 8192, tp 8 ep 1, 32 experts, top 4",
     "10.452 -> 1.863 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 L20, 8192 x 8192 x 8192, tp 4 ep 2, 32 experts, top 4",
     "26.911 -> 8.727 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 L20, 8192 x 8192 x 8192, tp 4 ep 2, 32 experts, top 4",
     "34.850 -> 8.445 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 H800, 8192 x 8192 x 8192, tp 4 ep 2, 32 experts, top 4",
     "4.069 -> 1.335 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 H800, 8192 x 8192 x 8192, tp 4 ep 2, 32 experts, top 4",
     "6.672 -> 1.685 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 L20, 8192 x 8192 x 8192, tp 8 ep 1, 8 experts, top 2",
     "19.734 -> 5.901 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 L20, 8192 x 8192 x 8192, tp 8 ep 1, 8 experts, top 2",
     "28.046 -> 6.744 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 H800, 8192 x 8192 x 8192, tp 8 ep 1, 8 experts, top 2",
     "2.124 -> 0.657 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 H800, 8192 x 8192 x 8192, tp 8 ep 1, 8 experts, top 2",
     "4.561 -> 1.019 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 L20, 8192 x 8192 x 8192, tp 4 ep 2, 8 experts, top 2",
     "21.68 -> 6.155 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 L20, 8192 x 8192 x 8192, tp 4 ep 2, 8 experts, top 2",
     "25.118 -> 7.009 ms", moe, flux_tables},
    {"FLUX MoE layer0 on 8 H800, 8192 x 8192 x 8192, tp 4 ep 2, 8 experts, top 2",
     "2.284 -> 0.955 ms", moe, flux_tables},
    {"FLUX MoE layer1 on 8 H800, 8192 x 8192 x 8192, tp 4 ep 2, 8 experts, top 2",
     "3.254 -> 0.981 ms", moe, flux_tables},
    {"DeepEP V1 normal intranode on H800, EP 8, 4096 tokens of 7168, 24 SMs",
     "dispatch 153 GB/s, combine 158 GB/s", moe, deepep},
    {"DeepEP V1 normal internode on H800, EP 16, 4096 tokens of 7168, 24 SMs",
     "dispatch 43 GB/s, combine 43 GB/s", moe, deepep},
    {"DeepEP V1 normal internode on H800, EP 32, 4096 tokens of 7168, 24 SMs",
     "dispatch 58 GB/s, combine 57 GB/s", moe, deepep},
    {"DeepEP V1 normal internode on H800, EP 64, 4096 tokens of 7168, 24 SMs",
     "dispatch 51 GB/s, combine 50 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 8, 128 tokens of 7168, 0 while in flight SMs",
     "77 us; dispatch 98 GB/s, combine 127 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 16, 128 tokens of 7168, no count of SMs",
     "118 us; dispatch 63 GB/s, combine 74 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 32, 128 tokens of 7168, no count of SMs",
     "155 us; dispatch 48 GB/s, combine 53 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 64, 128 tokens of 7168, no count of SMs",
     "173 us; dispatch 43 GB/s, combine 46 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 128, 128 tokens of 7168, no count of SMs",
     "192 us; dispatch 39 GB/s, combine 39 GB/s", moe, deepep},
    {"DeepEP V1 low-latency on H800, EP 256, 128 tokens of 7168, no count of SMs",
     "194 us; dispatch 39 GB/s, combine 40 GB/s", moe, deepep},
    {"DeepEP V2 elastic EP8x2 on SM90, EP 16, 8192 tokens of 7168, 12 SMs",
     "dispatch 90 GB/s, combine 81 GB/s", moe, deepep},
    {"DeepEP V2 elastic EP8x4 on SM90, EP 32, 8192 tokens of 7168, 6 SMs",
     "dispatch 61 GB/s, combine 61 GB/s", moe, deepep},
    {"DeepEP V2 elastic EP8x2 on SM100, EP 16, 8192 tokens of 7168, 12 SMs",
     "dispatch 90 GB/s, combine 91 GB/s", moe, deepep},
    {"DeepEP V2 elastic EP8 on SM100, EP 8, 8192 tokens of 7168, 64 (max perf) SMs",
     "dispatch 726 GB/s, combine 740 GB/s", moe, deepep},
    {"DeepEP V2 elastic EP8 on SM100, EP 8, 8192 tokens of 7168, 24 (min SM) SMs",
     "dispatch 643 GB/s, combine 675 GB/s", moe, deepep},
    {"AllReduce over 2 H100, one a node, 4 NICs, tree, 2 MB", "113.2 us", four_nics,
     "github.com/NVIDIA/nccl-tests/issues/232"},
    {"AllReduce over 2 H100, one a node, 4 NICs, tree, 8 MB", "231.4 us", four_nics,
     "github.com/NVIDIA/nccl-tests/issues/232"},
    {"AllReduce over 2 H100, one a node, 4 NICs, tree, 32 MB", "812.3 us", four_nics,
     "github.com/NVIDIA/nccl-tests/issues/232"},
    {"AllReduce between nodes, NVLSTree, large", "370 to 380 GB/s", no_count,
     "github.com/NVIDIA/nccl/issues/1649"},
    {"AllGather over 256 H100, 2 GB", "200 GB/s", no_machine, "github.com/NVIDIA/nccl/issues/1218"},
    {"AllReduce over 8 H100 PCIe, large", "35 to 45 GB/s", no_machine,
     "docs.alayanew.com tech-blog 2026-05-06, nccl-tests"},
    {"AllReduce over 8 H100, 1 KB, NCCL 2.28 against 2.29", "34.57 us", host_time,
     "github.com/NVIDIA/nccl/issues/2094"},
    {"AllGather over 8 H100 of 1 MiB shards by NCCL", "12.4 GB/s", host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 1 MiB shards by peer copies by copy engine", "6.3 GB/s", host_time,
     pytorch_gathers},
    {"AllGather over 8 H100 of 1 MiB shards by multicast copies by copy engine", "9.4 GB/s",
     host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 1 MiB shards by a multimem kernel", "19.0 GB/s", host_time,
     pytorch_gathers},
    {"AllGather over 8 H100 of 4 MiB shards by NCCL", "57.2 GB/s", host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 4 MiB shards by peer copies by copy engine", "25.2 GB/s", host_time,
     pytorch_gathers},
    {"AllGather over 8 H100 of 4 MiB shards by multicast copies by copy engine", "37.7 GB/s",
     host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 4 MiB shards by a multimem kernel", "75.7 GB/s", host_time,
     pytorch_gathers},
    {"AllGather over 8 H100 of 16 MiB shards by NCCL", "229.4 GB/s", host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 16 MiB shards by peer copies by copy engine", "99.4 GB/s", host_time,
     pytorch_gathers},
    {"AllGather over 8 H100 of 16 MiB shards by multicast copies by copy engine", "149.1 GB/s",
     host_time, pytorch_gathers},
    {"AllGather over 8 H100 of 16 MiB shards by a multimem kernel", "244.8 GB/s", host_time,
     pytorch_gathers},
    {"fast.cu 4096^3 on H100 at the step of CUDA cores", "32 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of tensor cores and TMA", "317 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of a larger output tile", "423 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of a producer and a consumer", "498 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of a tile of 128 x 256", "610 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of a persistent grid", "660 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of faster barriers", "704 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of clusters and multicast", "734 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of smaller matters", "747 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"fast.cu 4096^3 on H100 at the step of asynchronous stores", "758 TFLOP/s", steps,
     "aleksagordic.com/blog/matmul"},
    {"wgmma m64n256k16, zeros on H800 PCIe at 1755 MHz", "728.5 TFLOP/s", instruction,
     "arXiv 2402.13499"},
    {"wgmma m64n256k16, random on H800 PCIe at 1755 MHz", "665.4 TFLOP/s", instruction,
     "arXiv 2402.13499"},
    {"wgmma m64n128k16, zeros and random on H800 PCIe at 1755 MHz", "728.5 and 659.8 TFLOP/s",
     instruction, "arXiv 2402.13499"},
    {"wgmma m64n64k16, zeros and random on H800 PCIe at 1755 MHz", "719.6 and 648.3 TFLOP/s",
     instruction, "arXiv 2402.13499"},
    {"mma.sync m16n8k16 on H800 PCIe at 1755 MHz", "490.7 TFLOP/s", instruction,
     "arXiv 2402.13499"},
    {"ThunderKittens' educational kernels, 4096^3 on B200", "1540 TFLOP/s at the last step", steps,
     "HazyResearch/ThunderKittens:kernels/gemm/educational_b200/README.md at 0b55588"},
    {"MC2 AllGatherMatmul 1024 x 5120 x 10240 fp16 over 4 Ascend 950", "1635 -> 1315 us",
     no_machine,
     "gitcode.com/zhuzemao/ops-transformer_8242: experimental/mc2/all_gather_matmul_v2"},
});

constexpr std::array<std::string_view, 3> contradictions = {
    "pytorch pull request 182850 gives NCCL's all-gather of 1, 4 and 16 MiB shards on 8 "
    "H100 at "
    "12.4, 57.2 and 229.4 "
    "GB/s of the whole tensor: 0.6 ms each time; Megatron-LM pull request 5596 has 8 and 32 MiB in "
    "43 and 119 us on the "
    "same machine. Host time is in one and not in the other",
    "FLUX issue 100 has its product + reduce-scatter of 8192 x 8192 x 8192 on 8 H100 at 0.99 ms, "
    "twice what the links and "
    "the matrix units need one after the other; its own charts on H800, with less than half of the "
    "link, show it ahead of "
    "unfused at longer K",
    "nccl-tests issue 212 and nccl issue 1455 agree on 480 GB/s of NVLS at 8 GPUs: a bus bandwidth "
    "that counts bytes "
    "which the switch saves, and no link carries",
};

}  // namespace

std::span<const PublishedUncovered> published_uncovered() {
  return uncovered;
}
std::span<const std::string_view> published_contradictions() {
  return contradictions;
}

}  // namespace weft::calibration
