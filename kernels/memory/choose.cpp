// SPDX-License-Identifier: Apache-2.0
// What is decided from counts alone, so that it is tested without a device.
#include <stdexcept>
#include <string>

#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {

std::string_view name(Backend backend) {
  switch (backend) {
    case Backend::host_link:
      return "host_link";
    case Backend::virtual_ranks:
      return "virtual_ranks";
    case Backend::nccl_processes:
      return "nccl_processes";
    case Backend::peer_gpus:
      return "peer_gpus";
  }
  throw std::invalid_argument("no such back end");
}

int partition_sms(int device_sms, int ranks, int alignment) {
  if (ranks < 1 || alignment < 1 || device_sms < 1)
    throw std::invalid_argument("SMs, ranks and alignment are at least 1");
  int best = 0;
  for (int sms = 1; sms * ranks <= device_sms; sms *= 2)
    if (sms % alignment == 0) best = sms;
  if (best == 0)
    throw std::invalid_argument(std::to_string(device_sms) + " SMs do not split into " +
                                std::to_string(ranks) + " partitions of a multiple of " +
                                std::to_string(alignment));
  return best;
}

Backend choose_backend(int ranks, int devices, bool all_pairs_reachable) {
  if (ranks >= 2 && devices >= ranks && all_pairs_reachable) return Backend::peer_gpus;
  return Backend::virtual_ranks;
}

}  // namespace weft::kernels
