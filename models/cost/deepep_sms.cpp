// SPDX-License-Identifier: Apache-2.0
#include "models/cost/deepep_sms.hpp"

#include <algorithm>
#include <cmath>

namespace weft::model {
namespace {

constexpr double sm_read_gbps = 200;  // of one SM
constexpr double sm_write_gbps = 50;
constexpr double reserve = 1.25;
constexpr int least_sms = 4;
constexpr int least_sms_alone = 64;

// C(a, k) / C(b, k), factor by factor: neither count fits an integer.
double ratio_of_choices(int a, int b, int k) {
  double ratio = 1;
  for (int i = 0; i < k; ++i) ratio *= static_cast<double>(std::max(0, a - i)) / (b - i);
  return ratio;
}

}  // namespace

double deepep_expected_groups(int groups, int experts, int topk) {
  return groups * (1 - ratio_of_choices(experts - experts / groups, experts, topk));
}

int deepep_sm_count(const DeepEpProblem& p) {
  const double copies = deepep_expected_groups(p.ranks, p.experts, p.topk);
  double read = 1 / copies, write = 0, rdma = 0, nvlink = 0;
  const double scaleout = p.scaleout_ranks;
  if (p.scaleout_ranks > 1) {
    const double domains = deepep_expected_groups(p.scaleout_ranks, p.experts, p.topk);
    write += 1 / copies;
    write += 1 / copies * (domains / scaleout);
    rdma += 1 / copies * (domains * (1 - 1 / scaleout));
    read += domains / copies;
    write += 1;
    nvlink += 1 - scaleout / p.ranks;
  } else {
    const double near = static_cast<double>(p.nvlink_ranks) / p.ranks;
    if (p.ranks > p.nvlink_ranks) write += 1 / copies;
    write += near;
    nvlink += near * (1 - 1.0 / p.nvlink_ranks);
    rdma += static_cast<double>(p.ranks - p.nvlink_ranks) / p.ranks;
  }
  const bool by_rdma = p.scaleout_ranks > 1 && rdma / p.rdma_gbps > nvlink / p.nvlink_gbps;
  const double traffic = by_rdma ? rdma : nvlink, rate = by_rdma ? p.rdma_gbps : p.nvlink_gbps;
  double sms = p.device_sms;
  if (traffic > 0)
    sms = std::max(rate / traffic * read / sm_read_gbps, rate / traffic * write / sm_write_gbps);
  int count = std::max(least_sms, static_cast<int>(std::ceil(sms * reserve)));
  count += count % 2;
  if (!p.beside_compute) count = std::max(count, least_sms_alone);
  return std::min(count, p.device_sms);
}

}  // namespace weft::model
