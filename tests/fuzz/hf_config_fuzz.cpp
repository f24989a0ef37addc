// SPDX-License-Identifier: Apache-2.0
// Any bytes as a config.json: the reader returns a model that can be worked with, or throws
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/document.hpp"
#include "models/import/hf_config.hpp"
#include "models/import/hf_experts.hpp"
#include "models/workloads/model_config.hpp"
#include "models/workloads/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const config::Document document =
        config::Document::parse(text, "config.json", {.dialect = config::Dialect::tolerant});
    if (model::is_sparse_model(document)) {
      const model::SparseModel counted = model::read_sparse_model(document);
      if (counted.active <= 0 || counted.active > counted.parameters) __builtin_trap();
      return 0;
    }
    const model::ImportedModel imported = model::read_hf_config(document);
    if (model::parameters_of(imported.model).total <= 0) __builtin_trap();
    model::layout_problems(imported.model, {8, true, 2}, {});
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
