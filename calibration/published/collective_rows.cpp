// SPDX-License-Identifier: Apache-2.0
// Collectives alone, copies between two GPUs, and products alone. A range is taken at its middle.
#include <array>

#include "calibration/published/rows.hpp"

namespace weft::calibration {
namespace {

constexpr auto gather = CollectiveOp::all_gather;
constexpr auto scatter = CollectiveOp::reduce_scatter;
constexpr auto reduce = CollectiveOp::all_reduce;
constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t gib = 1 << 30;

constexpr std::string_view megatron_5596 = "github.com/NVIDIA/Megatron-LM/pull/5596, device time";
constexpr std::string_view triton_57 = "github.com/ByteDance-Seed/Triton-distributed/issues/57";
constexpr std::string_view nccl_1455 = "github.com/NVIDIA/nccl/issues/1455";
constexpr std::string_view nccl_1506 = "github.com/NVIDIA/nccl/issues/1506";
constexpr std::string_view nccl_1264 =
    "github.com/NVIDIA/nccl/issues/1264, p2pBandwidthLatencyTest";
constexpr std::string_view pytorch = "github.com/pytorch/pytorch/pull/182850";
constexpr std::string_view vendor = "docs.alayanew.com tech-blog 2026-05-06, nccl-tests";

constexpr std::string_view nothing = "";
constexpr std::string_view whole = "size is the whole tensor";
constexpr std::string_view mebi = "MB is 2^20 bytes; NCCL's choice of algorithm";
constexpr std::string_view large = "a large message is 1 GiB";
constexpr std::string_view between = "365 to 370 GB/s at 2 to 4 GB";
constexpr std::string_view guessed = "the GPUs are H100";
constexpr std::string_view guide =
    "a vendor's range at its middle; 1 GiB; NCCL's choice of algorithm";
constexpr std::string_view shards =
    "64 MiB shards; the figure is the whole tensor's bytes over time";

constexpr std::array collectives = std::to_array<PublishedCollective>({
    {"h100x8", gather, PublishedWay::ring, 8, 2 * mib, 20.2, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::symmetric, 8, 2 * mib, 10.9, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::ring, 8, 8 * mib, 43.4, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::symmetric, 8, 8 * mib, 27.4, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::ring, 8, 32 * mib, 118.9, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::symmetric, 8, 32 * mib, 95.3, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::ring, 8, 128 * mib, 385.3, 0, whole, megatron_5596},
    {"h100x8", gather, PublishedWay::symmetric, 8, 128 * mib, 363.2, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::ring, 8, 2 * mib, 18.6, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::symmetric, 8, 2 * mib, 10.8, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::ring, 8, 8 * mib, 47.0, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::symmetric, 8, 8 * mib, 28.8, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::ring, 8, 32 * mib, 112.6, 0, whole, megatron_5596},
    {"h100x8", scatter, PublishedWay::symmetric, 8, 32 * mib, 100.5, 0, whole, megatron_5596},
    {"h100x8", reduce, PublishedWay::chosen, 8, 1 * mib, 32.42, 0, mebi, triton_57},
    {"h100x8", reduce, PublishedWay::chosen, 8, 4 * mib, 59.43, 0, mebi, triton_57},
    {"h100x8", reduce, PublishedWay::chosen, 8, 8 * mib, 90.51, 0, mebi, triton_57},
    {"h100x8", reduce, PublishedWay::chosen, 8, 16 * mib, 135.68, 0, mebi, triton_57},
    {"h100x8", reduce, PublishedWay::nvls, 8, gib, 0, 480, nothing,
     "github.com/NVIDIA/nccl-tests/issues/212"},
    {"h100x8", gather, PublishedWay::ring, 8, gib, 0, 370, large,
     "github.com/NVIDIA/nccl-tests/issues/212"},
    {"h100x8", reduce, PublishedWay::ring, 2, 2 * gib, 0, 367.5, between, nccl_1455},
    {"h100x8", reduce, PublishedWay::ring, 4, 2 * gib, 0, 367.5, between, nccl_1455},
    {"h100x8", reduce, PublishedWay::ring, 8, 2 * gib, 0, 367.5, between, nccl_1455},
    {"h200x8", reduce, PublishedWay::chosen, 8, 4 * gib, 0, 475, nothing,
     "github.com/NVIDIA/nccl-tests/issues/272"},
    {"h800x8", reduce, PublishedWay::nvls, 8, gib, 0, 215, large,
     "github.com/NVIDIA/nccl/issues/1374"},
    {"h100x8", gather, PublishedWay::ring, 8, gib, 0, 350, guessed, nccl_1506, false},
    {"h100x8", gather, PublishedWay::nvls, 8, gib, 0, 300, guessed, nccl_1506, false},
    {"h100x8", reduce, PublishedWay::chosen, 8, gib, 0, 470, guide, vendor},
    {"a100x8", reduce, PublishedWay::chosen, 8, gib, 0, 240, guide, vendor},
    {"h100x8", gather, PublishedWay::chosen, 8, 512 * mib, 1402.9, 0, shards, pytorch},
    {"h100x8", gather, PublishedWay::copy_engine, 8, 512 * mib, 1429.4, 0, shards, pytorch},
});

constexpr std::array copies = std::to_array<PublishedCopy>({
    {"h100x8", false, 380, nccl_1264},
    {"h100x8", true, 756.5, nccl_1264},
});

constexpr auto vendor_library = model::GemmLibrary::cublaslt;
constexpr auto own_kernel = model::GemmLibrary::ours;

constexpr std::array products = std::to_array<PublishedProduct>({
    {"cuBLAS", "h100x8", 4096, 4096, 4096, vendor_library, 716, "clocks",
     "aleksagordic.com/blog/matmul"},
    {"cuBLAS", "h100x8", 8192, 8192, 8192, vendor_library, 795, "clocks",
     "pranjalssh/fast.cu:README.md at 38eb642"},
    {"fast.cu", "h100x8", 4096, 4096, 4096, own_kernel, 764, "clocks; weft's own kernel for theirs",
     "aleksagordic.com/blog/matmul, its last step"},
    {"fast.cu", "h100x8", 8192, 8192, 8192, own_kernel, 808, "clocks; weft's own kernel for theirs",
     "pranjalssh/fast.cu:README.md at 38eb642"},
    {"inductor with CUTLASS", "h100x8", 4224, 2048, 8192, own_kernel, 780.2,
     "vboost is on there and not here; weft's own kernel for theirs",
     "gist.github.com/jeromeku/e03df32cb86e89f7cb5f3485c93f99f1"},
});

}  // namespace

std::span<const PublishedCollective> published_collectives() {
  return collectives;
}
std::span<const PublishedCopy> published_copies() {
  return copies;
}
std::span<const PublishedProduct> published_products() {
  return products;
}

}  // namespace weft::calibration
