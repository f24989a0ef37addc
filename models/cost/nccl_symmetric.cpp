// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_symmetric.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::model {
namespace {

using Kernel = NcclSymmetricKernel;

struct Row {
  Kernel kernel;
  std::string_view name;
  CollectiveOp op;
  bool ll;
  bool by_switch;  // needs multicast or reduction in the switch
};

constexpr std::array rows = {
    Row{Kernel::all_reduce_ll, "AllReduce_AGxLL_R", CollectiveOp::all_reduce, true, false},
    Row{Kernel::all_reduce_llmc, "AllReduce_AGxLLMC_R", CollectiveOp::all_reduce, true, true},
    Row{Kernel::all_reduce_peers, "AllReduce_RSxLD_AGxST", CollectiveOp::all_reduce, false, false},
    Row{Kernel::all_reduce_switch, "AllReduce_RSxLDMC_AGxSTMC", CollectiveOp::all_reduce, false,
        true},
    Row{Kernel::all_gather_ll, "AllGather_LL", CollectiveOp::all_gather, true, false},
    Row{Kernel::all_gather_llmc, "AllGather_LLMC", CollectiveOp::all_gather, true, true},
    Row{Kernel::all_gather_peers, "AllGather_ST", CollectiveOp::all_gather, false, false},
    Row{Kernel::all_gather_switch, "AllGather_STMC", CollectiveOp::all_gather, false, true},
    Row{Kernel::reduce_scatter_ll, "ReduceScatter_LL", CollectiveOp::reduce_scatter, true, false},
    Row{Kernel::reduce_scatter_peers, "ReduceScatter_LD", CollectiveOp::reduce_scatter, false,
        false},
    Row{Kernel::reduce_scatter_switch, "ReduceScatter_LDMC", CollectiveOp::reduce_scatter, false,
        true},
};

const Row& row_of(Kernel kernel) {
  return rows[static_cast<std::size_t>(kernel)];
}

constexpr double gb_per_s = (1 << 30) / 1.e6;  // bytes a microsecond
constexpr double ll_bus_factor = 9;            // twice the bytes, processing, no unrolling
constexpr double tolerance = 1.025;            // of the time at the most CTAs
constexpr double cta_penalty = 0.025;          // of the time, a CTA, between kernels

// A smooth min(x, ceiling), and a smooth max(0, x).
double softmin(double x, double ceiling, double softness) {
  return ceiling -
         softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-x / softness));
}
double softplus(double x, double softness) {
  const double z = x / softness;
  return z >= 100.0 ? x : softness * std::log1p(std::exp(z));
}

struct Constants {
  double base_us, cta, peak;  // latency, and bytes a microsecond
};

Constants constants_of(NcclGeneration generation, const Row& row) {
  const bool reduces = row.op == CollectiveOp::all_reduce;
  const bool nvls_all_reduce = row.kernel == Kernel::all_reduce_switch;
  if (generation == NcclGeneration::hopper) {
    return {row.ll ? 4.5 : 7.8, (reduces ? 65 : 44) * gb_per_s,
            (nvls_all_reduce ? 480 : 320) * gb_per_s};
  }
  const double ll = row.op == CollectiveOp::all_gather ? 8.5 : 11;
  return {row.ll ? ll : (reduces ? 19.5 : 13.0), 55 * gb_per_s,
          (nvls_all_reduce ? 1000 : 600) * gb_per_s};
}

struct Bus {
  double bytes;
  double multiplier;
};

Bus bus_of(Kernel kernel, int ranks, double bytes) {
  switch (kernel) {
    case Kernel::all_reduce_ll:
    case Kernel::all_gather_ll:
    case Kernel::reduce_scatter_ll:
      return {ranks * bytes * ll_bus_factor, 1};
    case Kernel::all_reduce_llmc:
    case Kernel::all_gather_llmc:
      return {ranks * bytes * ll_bus_factor, 1.1};
    case Kernel::all_reduce_peers:
      return {2 * bytes * (ranks - 1) / ranks, 1};
    case Kernel::all_reduce_switch:
      return {bytes / ranks + bytes, static_cast<double>(ranks)};
    case Kernel::all_gather_peers:
    case Kernel::reduce_scatter_peers:
      return {(ranks - 1) * bytes, 1};
    case Kernel::all_gather_switch:
    case Kernel::reduce_scatter_switch:
      return {(ranks - 1) * bytes, 0.55 * ranks};
  }
  return {bytes, 1};
}

}  // namespace

std::string_view name_of(NcclSymmetricKernel kernel) {
  return row_of(kernel).name;
}

CollectiveOp op_of(NcclSymmetricKernel kernel) {
  return row_of(kernel).op;
}

bool uses_switch(NcclSymmetricKernel kernel) {
  return row_of(kernel).by_switch;
}

NcclSymmetricEstimate nccl_symmetric_estimate(NcclGeneration generation, NcclSymmetricKernel kernel,
                                              int ranks, std::int64_t bytes) {
  const Row& row = row_of(kernel);
  const Constants constants = constants_of(generation, row);
  const Bus bus = bus_of(kernel, ranks, static_cast<double>(bytes));
  const auto bandwidth = [&](int ctas) {
    return softmin(ctas * constants.cta * bus.multiplier, constants.peak, constants.cta);
  };
  const auto time = [&](int ctas) {
    return constants.base_us + softplus(bus.bytes / bandwidth(ctas) - 1, 1);
  };
  const int nvls_ctas = ((generation == NcclGeneration::hopper ? 16 : 32) + ranks - 1) / ranks;
  const int most = row.by_switch && !row.ll ? nvls_ctas : nccl_symmetric_ctas;
  NcclSymmetricEstimate estimate{kernel, most, time(most), bandwidth(most), bus.bytes};
  for (int ctas = 1; ctas < most; ++ctas) {
    if (time(ctas) > tolerance * estimate.time_us) continue;
    estimate.ctas = ctas;
    estimate.time_us = time(ctas);
    estimate.bytes_per_us = bandwidth(ctas);
    break;
  }
  return estimate;
}

std::optional<NcclSymmetricEstimate> nccl_symmetric_pick(NcclGeneration generation, CollectiveOp op,
                                                         int ranks, std::int64_t bytes,
                                                         bool switch_reduces) {
  std::optional<NcclSymmetricEstimate> best;
  const auto price = [](const NcclSymmetricEstimate& each) {
    return each.time_us * (1 + cta_penalty * each.ctas);
  };
  for (const Row& row : rows) {
    if (row.op != op || (row.by_switch && !switch_reduces)) continue;
    const auto each = nccl_symmetric_estimate(generation, row.kernel, ranks, bytes);
    if (!best || price(each) < price(*best)) best = each;
  }
  return best;
}

}  // namespace weft::model
