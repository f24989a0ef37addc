// SPDX-License-Identifier: Apache-2.0
// Any bytes as a job of Megatron-LM: a job that the pre-flight rules can look at, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/import/preflight.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const model::LaunchArguments arguments = model::read_launch_arguments(text, "job.sh");
    const model::MegatronJob job = model::megatron_job(arguments);
    model::TpOverlap overlap;
    overlap.gemms.resize(1);
    overlap.gemms[0].name = "proj_fprop";
    overlap.gemms[0].method = model::UbMethod::pipeline;
    model::PreflightMachine machine;
    machine.sms = 132;
    machine.gpus_per_node = 8;
    machine.network_per_direction = Bandwidth::from_bytes_per_second(50'000'000'000);
    static_cast<void>(model::preflight({&arguments, &job, &overlap, nullptr, &machine}));
    static_cast<void>(model::scenario_of(job, "job", "", ""));
    static_cast<void>(model::model_of(job, arguments));
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
