// SPDX-License-Identifier: Apache-2.0
// The driver functions that the runtime API does not offer, looked up at run time, so that a program
// that links this library also starts on a machine without libcuda.
#pragma once

#include <cuda.h>

namespace weft::kernels {

/// Driver entry points; a member is null where the installed driver is too old to have it.
struct Driver {
  decltype(&cuStreamWriteValue32) stream_write_value_32 = nullptr;
  decltype(&cuStreamWaitValue32) stream_wait_value_32 = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetDevResource) device_get_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) sm_resource_split_by_count = nullptr;
  decltype(&cuDevResourceGenerateDesc) resource_generate_desc = nullptr;
  decltype(&cuGreenCtxCreate) green_context_create = nullptr;
  decltype(&cuGreenCtxDestroy) green_context_destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) green_context_stream_create = nullptr;
  decltype(&cuCtxFromGreenCtx) context_from_green = nullptr;
  decltype(&cuCtxPushCurrent) context_push = nullptr;
  decltype(&cuCtxPopCurrent) context_pop = nullptr;
  decltype(&cuMemGetAllocationGranularity) memory_granularity = nullptr;
  decltype(&cuMemCreate) memory_create = nullptr;
  decltype(&cuMemRelease) memory_release = nullptr;
  decltype(&cuMemAddressReserve) address_reserve = nullptr;
  decltype(&cuMemAddressFree) address_free = nullptr;
  decltype(&cuMemMap) memory_map = nullptr;
  decltype(&cuMemUnmap) memory_unmap = nullptr;
  decltype(&cuMemSetAccess) memory_set_access = nullptr;
};

/// Looks the entry points up; throws DeviceError where there is no driver at all.
Driver load_driver();

}  // namespace weft::kernels
