// SPDX-License-Identifier: Apache-2.0
// Overlapped products: FLUX's table and tuning list, and the charts of Triton-distributed, which show FLUX too.
#include <array>

#include "calibration/published/rows.hpp"

namespace weft::calibration {
namespace {

constexpr auto ag = model::BoundaryKind::ag_gemm;
constexpr auto rs = model::BoundaryKind::gemm_rs;

constexpr std::string_view flux_performance = "bytedance/flux:docs/performance.md at 19831ca";
constexpr std::string_view flux_issue = "github.com/bytedance/flux/issues/100";
constexpr std::string_view charts_ag =
    "ByteDance-Seed/Triton-distributed:asset/ag-gemm-intra-node.png at 1512a81, read off to 0.02";
constexpr std::string_view charts_rs =
    "ByteDance-Seed/Triton-distributed:asset/gemm-rs-intranode-perf.png at 1512a81, read off to "
    "0.02";
constexpr std::string_view charts_ag_nodes =
    "ByteDance-Seed/Triton-distributed:asset/ag-gemm-internode-perf.png at 1512a81, read off to "
    "0.03";
constexpr std::string_view charts_rs_nodes =
    "ByteDance-Seed/Triton-distributed:asset/gemm-rs-internode-perf.png at 1512a81, read off to "
    "0.03";

constexpr std::string_view board =
    "host bridges of the PCIe board; NCCL with peer access, as FLUX's copies have it: the row's "
    "own "
    "7.9 GB/s a GPU say that its NCCL went without";
constexpr std::string_view chart = "bf16; N and K of the whole group; clocks";
constexpr std::string_view chart_nodes =
    "bf16; N and K of the whole group; clocks; 8 NICs of 400 Gb/s";
constexpr std::string_view cluster_m =
    "rt_k is of one rank; cluster of 2 along M, as the tile table has it or not";
constexpr std::string_view cluster_n =
    "rt_k is of one rank; cluster of 2 along N, as the tile table has it or not";

constexpr std::array boundaries = std::to_array<PublishedBoundary>({
    {"FLUX", "l20x8", "flux.ag_gemm", ag, 8, 4096, 49152, 12288, 16.946, 5.903, 0, "", board,
     flux_performance, false, DType::fp16},
    {"FLUX", "l20x8", "flux.gemm_rs", rs, 8, 4096, 12288, 49152, 17.664, 5.73, 0, "", board,
     flux_performance, false, DType::fp16},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 11008, 4096, 0, 0, 1.17, "", chart, charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 11008, 4096, 0, 0,
     1.33, "", chart, charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 14336, 4096, 0, 0, 1.14, "", chart, charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 14336, 4096, 0, 0,
     1.31, "", chart, charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 28672, 8192, 0, 0, 1.49, "", chart, charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 28672, 8192, 0, 0,
     1.6, "", chart, charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 53248, 16384, 0, 0, 1.43, "", chart, charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 53248, 16384, 0, 0,
     1.42, "", chart, charts_ag},
    {"FLUX", "h800x8", "flux.ag_gemm", ag, 8, 8192, 29568, 8192, 0, 0, 1.54, "", chart, charts_ag},
    {"Triton-distributed", "h800x8", "triton_distributed.ag_gemm", ag, 8, 8192, 29568, 8192, 0, 0,
     1.66, "", chart, charts_ag},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4096, 11008, 0, 0, 0.79, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4096, 11008, 0, 0,
     1.06, "", chart, charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4096, 14336, 0, 0, 0.8, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4096, 14336, 0, 0,
     1.1, "", chart, charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 3584, 14336, 0, 0, 0.76, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 3584, 14336, 0, 0,
     1.07, "", chart, charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 4608, 36864, 0, 0, 1.1, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 4608, 36864, 0, 0,
     1.43, "", chart, charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 8192, 28672, 0, 0, 1.27, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 8192, 28672, 0, 0,
     1.55, "", chart, charts_rs},
    {"FLUX", "h800x8", "flux.gemm_rs", rs, 8, 8192, 8192, 29568, 0, 0, 1.32, "", chart, charts_rs},
    {"Triton-distributed", "h800x8", "triton_distributed.gemm_rs", rs, 8, 8192, 8192, 29568, 0, 0,
     1.59, "", chart, charts_rs},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 8192, 49152, 12288, 0,
     0, 1.37, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 16384, 49152, 12288, 0,
     0, 1.52, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 32768, 11008, 4096, 0,
     0, 1.08, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 32768, 14336, 4096, 0,
     0, 1.08, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 8192, 28672, 8192, 0,
     0, 1.11, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 16384, 28672, 8192, 0,
     0, 1.2, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 32768, 28672, 8192, 0,
     0, 1.34, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 8192, 53248, 16384, 0,
     0, 1.5, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 16384, 53248, 16384, 0,
     0, 1.62, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.ag_gemm", ag, 16, 32768, 53248, 16384, 0,
     0, 1.69, "", chart_nodes, charts_ag_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.gemm_rs", rs, 16, 4096, 12288, 49152, 0,
     0, 1.13, "", chart_nodes, charts_rs_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.gemm_rs", rs, 16, 8192, 12288, 49152, 0,
     0, 1.34, "", chart_nodes, charts_rs_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.gemm_rs", rs, 16, 16384, 12288, 49152, 0,
     0, 1.51, "", chart_nodes, charts_rs_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.gemm_rs", rs, 16, 32768, 12288, 49152, 0,
     0, 1.58, "", chart_nodes, charts_rs_nodes},
    {"Triton-distributed", "h800x8x2", "triton_distributed.gemm_rs", rs, 16, 65536, 12288, 49152, 0,
     0, 1.57, "", chart_nodes, charts_rs_nodes},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 8192, 8192, 8192, 0, 0.99, 0, "fuse_reduction=0",
     cluster_m, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 8192, 8192, 8192, 0, 1.021, 0, "fuse_reduction=0",
     cluster_n, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 8192, 0, 1.949, 0, "fuse_reduction=0",
     cluster_m, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 8192, 0, 2.073, 0, "fuse_reduction=0",
     cluster_n, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 28672, 0, 2.479, 0, "fuse_reduction=0",
     cluster_m, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 28672, 0, 2.822, 0, "fuse_reduction=1",
     cluster_m, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 16384, 8192, 28672, 0, 2.862, 0, "fuse_reduction=1",
     cluster_n, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 32768, 8192, 8192, 0, 4.595, 0, "fuse_reduction=1",
     cluster_m, flux_issue, true, DType::fp16},
    {"FLUX", "h100x8", "flux.gemm_rs", rs, 8, 32768, 8192, 8192, 0, 4.77, 0, "fuse_reduction=1",
     cluster_n, flux_issue, true, DType::fp16},
});

}  // namespace

std::span<const PublishedBoundary> published_boundaries() {
  return boundaries;
}

}  // namespace weft::calibration
