// SPDX-License-Identifier: Apache-2.0
#include "calibration/published/rows.hpp"

#include <array>

namespace weft::calibration {
namespace {

constexpr auto ag = model::BoundaryKind::ag_gemm;
constexpr auto rs = model::BoundaryKind::gemm_rs;

constexpr std::string_view flux_performance = "bytedance/flux:docs/performance.md at 19831ca";
constexpr std::string_view flux_issue = "github.com/bytedance/flux/issues/100";
constexpr std::string_view triton_charts_ag =
    "ByteDance-Seed/Triton-distributed:asset/ag-gemm-intra-node.png at 1512a81, read off to 0.02";
constexpr std::string_view triton_charts_rs =
    "ByteDance-Seed/Triton-distributed:asset/gemm-rs-intranode-perf.png at 1512a81, read off to "
    "0.02";
constexpr std::string_view megatron_5596 = "github.com/NVIDIA/Megatron-LM/pull/5596, device time";

constexpr std::string_view board = "host bridges of the PCIe board";
constexpr std::string_view chart = "N and K of the whole group; clocks";
constexpr std::string_view local_k = "rt_k is of one rank";

constexpr std::array boundaries = std::to_array<PublishedBoundary>({
    {"FLUX", "l20x8", "flux.ag_gemm", ag, 8, 4096, 49152, 12288, 16.946, 5.903, 0, "", board,
     flux_performance},
    {"FLUX", "l20x8", "flux.gemm_rs", rs, 8, 4096, 12288, 49152, 17.664, 5.73, 0, "", board,
     flux_performance},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 11008, 4096, 0, 0, 1.17, "", chart,
     triton_charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 11008, 4096, 0, 0,
     1.33, "", chart, triton_charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 14336, 4096, 0, 0, 1.14, "", chart,
     triton_charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 14336, 4096, 0, 0,
     1.31, "", chart, triton_charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 28672, 8192, 0, 0, 1.49, "", chart,
     triton_charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 28672, 8192, 0, 0,
     1.6, "", chart, triton_charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 53248, 16384, 0, 0, 1.43, "", chart,
     triton_charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 53248, 16384, 0, 0,
     1.42, "", chart, triton_charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 29568, 8192, 0, 0, 1.54, "", chart,
     triton_charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 29568, 8192, 0, 0,
     1.66, "", chart, triton_charts_ag},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4096, 11008, 0, 0, 0.79, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4096, 11008, 0, 0,
     1.06, "", chart, triton_charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4096, 14336, 0, 0, 0.8, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4096, 14336, 0, 0,
     1.1, "", chart, triton_charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 3584, 14336, 0, 0, 0.76, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 3584, 14336, 0, 0,
     1.07, "", chart, triton_charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4608, 36864, 0, 0, 1.1, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4608, 36864, 0, 0,
     1.43, "", chart, triton_charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 8192, 28672, 0, 0, 1.27, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 8192, 28672, 0, 0,
     1.55, "", chart, triton_charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 8192, 29568, 0, 0, 1.32, "", chart,
     triton_charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 8192, 29568, 0, 0,
     1.59, "", chart, triton_charts_rs},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 8192, 8192, 8192, 0, 0.99, 0, "fuse_reduction=0",
     local_k, flux_issue},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 8192, 0, 1.949, 0, "fuse_reduction=0",
     local_k, flux_issue},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 28672, 0, 2.479, 0, "fuse_reduction=0",
     local_k, flux_issue},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 28672, 0, 2.822, 0, "fuse_reduction=1",
     local_k, flux_issue},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 32768, 8192, 8192, 0, 4.595, 0, "fuse_reduction=0",
     local_k, flux_issue},
});

constexpr std::array collectives = std::to_array<PublishedCollective>({
    {CollectiveOp::all_gather, false, 2 << 20, 20.2, megatron_5596},
    {CollectiveOp::all_gather, true, 2 << 20, 10.9, megatron_5596},
    {CollectiveOp::all_gather, false, 8 << 20, 43.4, megatron_5596},
    {CollectiveOp::all_gather, true, 8 << 20, 27.4, megatron_5596},
    {CollectiveOp::all_gather, false, 32 << 20, 118.9, megatron_5596},
    {CollectiveOp::all_gather, true, 32 << 20, 95.3, megatron_5596},
    {CollectiveOp::all_gather, false, 128 << 20, 385.3, megatron_5596},
    {CollectiveOp::all_gather, true, 128 << 20, 363.2, megatron_5596},
    {CollectiveOp::reduce_scatter, false, 2 << 20, 18.6, megatron_5596},
    {CollectiveOp::reduce_scatter, true, 2 << 20, 10.8, megatron_5596},
    {CollectiveOp::reduce_scatter, false, 8 << 20, 47.0, megatron_5596},
    {CollectiveOp::reduce_scatter, true, 8 << 20, 28.8, megatron_5596},
    {CollectiveOp::reduce_scatter, false, 32 << 20, 112.6, megatron_5596},
    {CollectiveOp::reduce_scatter, true, 32 << 20, 100.5, megatron_5596},
});

constexpr std::array products = std::to_array<PublishedProduct>({
    {4096, 4096, 4096, 716, "aleksagordic.com/blog/matmul, cuBLAS"},
    {8192, 8192, 8192, 795, "pranjalssh/fast.cu:README.md at 38eb642, cuBLAS"},
});

constexpr std::array<std::string_view, 4> not_covered = {
    "FLUX MoE layers 0 and 1 on L20 and H800, and its MoE tuning lists: no MoE schedules yet",
    "DeepEP V1 and V2 dispatch and combine: no expert parallelism yet",
    "Triton-distributed on two nodes: its and FLUX's schedules between nodes are not in the "
    "catalogue",
    "speed-ups of whole training or serving runs: they name no shape",
};
constexpr std::array<std::string_view, 3> contradictions = {
    "pytorch pull request 182850 gives NCCL's all-gather of 1 MiB shards on 8 H100 at 12.4 GB/s, "
    "85 us; "
    "Megatron-LM pull request 5596 has 8 MiB in 43 us on the same machine: host time is in one and "
    "not the other",
    "FLUX issue 100 has its product + reduce-scatter of 8192 x 8192 x 8192 on 8 H100 at 0.99 ms, "
    "twice what the "
    "links and the matrix units need one after the other; its own charts on H800, with less than "
    "half of the link, "
    "show it ahead of unfused at longer K",
    "nccl-tests issue 212 and nccl issue 1455 agree on 480 GB/s of NVLS at 8 GPUs: a bus bandwidth "
    "that counts bytes "
    "which the switch saves, and no link carries",
};

}  // namespace

std::span<const PublishedBoundary> published_boundaries() {
  return boundaries;
}
std::span<const PublishedCollective> published_collectives() {
  return collectives;
}
std::span<const PublishedProduct> published_products() {
  return products;
}
std::span<const std::string_view> published_not_covered() {
  return not_covered;
}
std::span<const std::string_view> published_contradictions() {
  return contradictions;
}

}  // namespace weft::calibration
