// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/unmeasured.hpp"

#include <algorithm>

namespace weft::calibration {

namespace {

struct Cases {
  const char* what;
  const char* suite;
  bool of_peers;
  bool (*measures)(const Case&);
};

bool is_of(const Case& what, const char* backend, const char* figure) {
  return what.backend == backend && what.figure == figure;
}

constexpr Cases terms[] = {
    {"products on parts of a device", "gemm-parts", false,
     [](const Case& what) { return what.operation == "gemm" && what.backend == "virtual_ranks"; }},
    {"a launch behind another", "boundary", false,
     [](const Case& what) {
       return is_of(what, "host_link", "A_s") && what.schedule == "chunked";
     }},
    {"interference of traffic over the host link", "interference", false,
     [](const Case& what) { return is_of(what, "host_link", "beside"); }},
    {"tiles that post flags", "tile-flags", false,
     [](const Case& what) { return what.figure == "A_s" && what.schedule == "device_flag"; }},
    {"waits of a stream", "waits", false,
     [](const Case& what) { return what.operation == "stream_wait"; }},
    {"a launch behind another between GPUs", "peer-boundary", true,
     [](const Case& what) {
       return is_of(what, "peer_gpus", "A_s") && what.schedule == "chunked";
     }},
    {"interference of traffic between GPUs", "peer-interference", true,
     [](const Case& what) { return is_of(what, "peer_gpus", "beside"); }}};

}  // namespace

std::vector<Gap> unmeasured(const std::vector<Observation>& samples) {
  const auto any = [&](const auto& wanted) {
    return std::any_of(samples.begin(), samples.end(), [&](const Observation& seen) {
      return !seen.published && wanted(seen.what());
    });
  };
  const bool peers = any([](const Case& what) { return what.backend == "peer_gpus"; });
  std::vector<Gap> gaps;
  for (const Cases& term : terms) {
    if ((peers || !term.of_peers) && !any(term.measures)) gaps.push_back({term.what, term.suite});
  }
  return gaps;
}

}  // namespace weft::calibration
