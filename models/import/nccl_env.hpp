// SPDX-License-Identifier: Apache-2.0
// Settings of NCCL as a shell or an nccl.conf has them: NAME=VALUE a line, "export" before it or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::model {

struct NcclSetting {
  std::string name;  ///< "NCCL_ALGO"
  std::string value;
  std::uint32_t line = 0;
};

struct NcclEnvironment {
  std::string file;
  std::vector<NcclSetting> settings;  ///< each name once, in the order of the file
  std::vector<config::ConfigError> notes;

  [[nodiscard]] const NcclSetting* find(std::string_view name) const;
};

/// What is wrong with the settings, each with the setting that it is said of: values that NCCL does
/// not take, and settings that contradict each other.
struct NcclFault {
  std::string name;
  std::string what;
};
[[nodiscard]] std::vector<NcclFault> faults_of(const std::vector<NcclSetting>& settings);

/// Returns whether lines of the text set variables of NCCL.
[[nodiscard]] bool looks_like_nccl_environment(std::string_view text);

/// Reads the text; throws config::ConfigErrors with every fault.
[[nodiscard]] NcclEnvironment read_nccl_environment(std::string_view text, const std::string& name);

/// The settings as lines of a shell, after the header as comments; throws CheckFailure for faults.
[[nodiscard]] std::string to_nccl_environment(const std::vector<NcclSetting>& settings,
                                              const std::vector<std::string>& header);

}  // namespace weft::model
