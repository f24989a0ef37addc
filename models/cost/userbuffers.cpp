// SPDX-License-Identifier: Apache-2.0
#include "models/cost/userbuffers.hpp"

#include <fmt/format.h>

namespace weft::model {
namespace {

constexpr int sm_hopper = 90;  // the first with clusters

}  // namespace

int ub_cluster(std::int64_t ctas, std::int64_t cga_size, int architecture) {
  return architecture >= sm_hopper && ctas % cga_size == 0 ? static_cast<int>(cga_size) : 1;
}

std::vector<std::string> ub_grid_faults(std::int64_t num_sm, std::int64_t cga_size, bool pipeline,
                                        int architecture) {
  std::vector<std::string> faults;
  if (num_sm < 1 || num_sm > ub_most_sms)
    faults.push_back(fmt::format("num_sm {} is not between 1 and {}", num_sm, ub_most_sms));
  if (cga_size < 1) {
    faults.push_back(fmt::format("cga_size {} is less than 1", cga_size));
    return faults;
  }
  std::vector<std::int64_t> grids = {num_sm};
  if (pipeline && num_sm != ub_most_sms) grids.push_back(ub_most_sms);
  for (const std::int64_t ctas : grids) {
    if (ctas < 1 || ub_cluster(ctas, cga_size, architecture) <= ub_most_cluster) continue;
    faults.push_back(
        fmt::format("cga_size {} divides a grid of {}, and CUDA starts no clusters of more than {}",
                    cga_size, ctas, ub_most_cluster));
  }
  return faults;
}

}  // namespace weft::model
