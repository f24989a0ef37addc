// SPDX-License-Identifier: Apache-2.0
// The arguments of a training job as its launch script, Hydra command line or YAML has them: shell
// arrays, comments inside them, ${VAR:-default}, later ones over earlier ones. Names come out
// without dashes, words joined by underscores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/foreign_text.hpp"

namespace weft::model {

struct LaunchArgument {
  std::string value;  ///< empty: a switch
  std::uint32_t line = 0;
  bool dashed = false;  ///< "--name", as Megatron-LM has them
};

struct LaunchArguments {
  std::string file;
  std::map<std::string, LaunchArgument> arguments;  ///< "tensor_model_parallel_size"
  std::map<std::string, LaunchArgument> environment;
  std::vector<config::ConfigError> notes;

  [[nodiscard]] const LaunchArgument* find(std::string_view name) const;
  /// Whether a switch is set: there, and not followed by false or 0.
  [[nodiscard]] bool on(std::string_view name) const;
};

/// Returns whether the text looks like a job of Megatron-LM or NeMo.
[[nodiscard]] bool looks_like_launch_arguments(std::string_view text);

/// Returns whether the first 64 KiB of a file look like such a job, and not like JSON.
[[nodiscard]] bool is_launch_file(const std::filesystem::path& file);

/// Reads the text; throws config::ConfigErrors if no argument is in it.
[[nodiscard]] LaunchArguments read_launch_arguments(std::string_view text, const std::string& name);

}  // namespace weft::model
