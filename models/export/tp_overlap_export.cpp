// SPDX-License-Identifier: Apache-2.0
#include "models/export/tp_overlap_export.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/check.hpp"

namespace weft::model {
namespace {

/// The settings of a product as name and text, those that are set.
std::vector<std::pair<std::string, std::string>> settings_of(const UbGemm& gemm, bool python) {
  const std::vector<std::string> faults = faults_of(gemm);
  WEFT_CHECK(faults.empty(), "{} would be refused: {}", gemm.name, fmt::join(faults, "; "));
  std::vector<std::pair<std::string, std::string>> settings;
  settings.emplace_back("method", python ? fmt::format("\"{}\"", name_of(gemm.method))
                                         : std::string(name_of(gemm.method)));
  const auto count = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) settings.emplace_back(name, std::to_string(*value));
  };
  const auto flag = [&](const char* name, const std::optional<bool>& value) {
    if (value)
      settings.emplace_back(name, python ? (*value ? "True" : "False") : (*value ? "1" : "0"));
  };
  count("num_sm", gemm.num_sm);
  count("cga_size", gemm.cga_size);
  count("num_splits", gemm.num_splits);
  flag("set_sm_margin", gemm.set_sm_margin);
  flag("aggregate", gemm.aggregate);
  flag("atomic_gemm", gemm.atomic_gemm);
  flag("use_ce", gemm.use_ce);
  flag("fp8_buf", gemm.fp8_buf);
  return settings;
}

/// The header as comments, of settings that go together.
std::string comments(const std::vector<UbGemm>& gemms, const std::vector<std::string>& header) {
  for (const UbPairFault& fault : pair_faults_of(gemms)) WEFT_CHECK(false, "{}", fault.what);
  std::string text;
  for (const std::string& line : header) text += fmt::format("# {}\n", line);
  return text;
}

}  // namespace

std::string to_tp_overlap_yaml(const std::vector<UbGemm>& gemms,
                               const std::vector<std::string>& header) {
  std::string text = comments(gemms, header);
  for (const UbGemm& gemm : gemms) {
    text += fmt::format("{}:\n", gemm.name);
    for (const auto& [name, value] : settings_of(gemm, false)) {
      text += fmt::format("  {}: {}\n", name, value);
    }
  }
  return text;
}

std::string to_ub_cfgs(const std::vector<UbGemm>& gemms, const std::vector<std::string>& header) {
  std::string text = comments(gemms, header) + "ub_cfgs = {\n";
  for (const UbGemm& gemm : gemms) {
    std::vector<std::string> items;
    for (const auto& [name, value] : settings_of(gemm, true)) {
      items.push_back(fmt::format("\"{}\": {}", name, value));
    }
    text += fmt::format("    \"{}\": {{{}}},\n", gemm.name, fmt::join(items, ", "));
  }
  return text + "}\n";
}

}  // namespace weft::model
