// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/driver.hpp"

#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

template <typename Function>
void look_up(const char* name, Function& function, unsigned int version = 12040) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  WEFT_CUDA(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result));
  if (result == cudaDriverEntryPointSuccess) function = reinterpret_cast<Function>(found);
}

}  // namespace

Driver load_driver() {
  Driver driver;
  look_up("cuStreamWriteValue32", driver.stream_write_value_32);
  look_up("cuStreamWaitValue32", driver.stream_wait_value_32);
  look_up("cuDeviceGet", driver.device_get);
  look_up("cuDeviceGetDevResource", driver.device_get_resource);
  look_up("cuDevSmResourceSplitByCount", driver.sm_resource_split_by_count);
  look_up("cuDevResourceGenerateDesc", driver.resource_generate_desc);
  look_up("cuGreenCtxCreate", driver.green_context_create);
  look_up("cuGreenCtxDestroy", driver.green_context_destroy);
  look_up("cuGreenCtxStreamCreate", driver.green_context_stream_create, 12050);
  look_up("cuCtxFromGreenCtx", driver.context_from_green);
  look_up("cuCtxPushCurrent", driver.context_push);
  look_up("cuCtxPopCurrent", driver.context_pop);
  look_up("cuMemGetAllocationGranularity", driver.memory_granularity);
  look_up("cuMemCreate", driver.memory_create);
  look_up("cuMemRelease", driver.memory_release);
  look_up("cuMemAddressReserve", driver.address_reserve);
  look_up("cuMemAddressFree", driver.address_free);
  look_up("cuMemMap", driver.memory_map);
  look_up("cuMemUnmap", driver.memory_unmap);
  look_up("cuMemSetAccess", driver.memory_set_access);
  return driver;
}

}  // namespace weft::kernels
