// SPDX-License-Identifier: Apache-2.0
// How many SMs DeepEP's elastic buffer takes for dispatch and combine, by its own bandwidth model of one token.
//
//   groups that a token goes to: E(G) = G (1 - C(experts - experts/G, k) / C(experts, k))
//   SMs = what reads and writes of a token need while its traffic fills the busier of NVLink and RDMA, and a quarter
//   more; at least 4, even, and at least 64 where nothing computes beside it
//
// Source: deepseek-ai/DeepEP, deep_ep/buffers/elastic.py, get_theoretical_num_sms. Gates are taken as balanced.
#pragma once

#include <cstdint>

namespace weft::model {

struct DeepEpProblem {
  int ranks = 8;
  int nvlink_ranks = 8;    ///< of one NVLink domain
  int scaleout_ranks = 1;  ///< domains that the hybrid kernels join; 1: direct
  int experts = 256;
  int topk = 8;
  double nvlink_gbps = 0;
  double rdma_gbps = 0;
  bool beside_compute = true;  ///< prefer_overlap_with_compute
  int device_sms = 132;
};

/// Expected number of `groups` that a token's top k experts lie in.
[[nodiscard]] double deepep_expected_groups(int groups, int experts, int topk);

/// The SM count.
[[nodiscard]] int deepep_sm_count(const DeepEpProblem& problem);

}  // namespace weft::model
