// SPDX-License-Identifier: Apache-2.0
// `weft import` of settings that another system reads: checked by its rules and written out again, so
// that what was understood can be seen.
#include <filesystem>

#include <fmt/format.h>

#include "models/import/flux_tuning.hpp"
#include "models/import/nccl_env.hpp"
#include "models/import/vllm_config.hpp"
#include "tools/weft/import_formats.hpp"

namespace weft::tool {
namespace {

std::vector<std::string> header_of(const ImportInput& input) {
  return {fmt::format("read from {}", std::filesystem::path(input.name).filename().string())};
}

}  // namespace

ExitCode import_nccl_environment(const ImportInput& input, Context& context) {
  const model::NcclEnvironment read = model::read_nccl_environment(input.text, input.name);
  print_notes(read.notes, context);
  deliver(model::to_nccl_environment(read.settings, header_of(input)), input, context);
  return ExitCode::ok;
}

ExitCode import_flux(const ImportInput& input, Context& context) {
  const model::FluxTuning read = model::read_flux_tuning(input.text, input.name);
  print_notes(read.notes, context);
  deliver(model::to_flux_tuning(read.entries, header_of(input)), input, context);
  return ExitCode::ok;
}

ExitCode import_vllm(const ImportInput& input, Context& context) {
  const model::VllmOverlap read = model::read_vllm_config(input.text, input.name);
  print_notes(read.notes, context);
  deliver(model::to_vllm_config(read, header_of(input)), input, context);
  return ExitCode::ok;
}

}  // namespace weft::tool
