// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fit_profile.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/interference_fit.hpp"
#include "calibration/fit/link_fit.hpp"

namespace weft::calibration {

namespace {

std::vector<CollectiveSample> collectives_in(const std::vector<Observation>& samples) {
  std::vector<CollectiveSample> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    const auto op = collective_op_of(what.operation);
    if (!is_library_collective(seen) || !op || !what.ranks) continue;
    rows.push_back({.op = *op,
                    .dtype = dtype_of(what.dtype).value_or(DType::fp16),
                    .ranks = *what.ranks,
                    .message = Bytes::from(*what.bytes),
                    .time = seen.time()});
  }
  return rows;
}

}  // namespace

bool is_library_collective(const Observation& seen) {
  const Case& what = seen.what();
  return what.library == "nccl" && what.backend != "peer_gpus" && what.bytes;
}

model::Profile fit_profile(const model::Profile& start, const std::vector<Observation>& samples) {
  model::Profile profile = start;
  const std::vector<CollectiveSample> collectives = collectives_in(samples);
  if (!collectives.empty()) {
    const auto table = std::find_if(samples.begin(), samples.end(), is_library_collective);
    profile.collectives =
        fit_collectives(profile, collectives, collective_form(profile), table->run->program)
            .collectives;
  }
  return fit_interference(fit_host_link(std::move(profile), samples), samples);
}

}  // namespace weft::calibration
