// SPDX-License-Identifier: Apache-2.0
// The configuration files that are there, by kind and name.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/nearest.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

namespace fs = std::filesystem;

std::map<std::string, fs::path> config_files(std::string_view kind, const Context& context) {
  std::vector<fs::path> folders;
  for (const fs::path& configs : context.search.configs) folders.push_back(configs / kind);
  folders.push_back(fs::path("configs") / kind);
  if (context.search.installed) folders.push_back(*context.search.installed / kind);
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json")
        files.try_emplace(entry.path().stem().string(), entry.path());
    }
  }
  return files;
}

fs::path config_file(std::string_view kind, const std::string& name, const Context& context) {
  const std::map<std::string, fs::path> files = config_files(kind, context);
  if (const auto known = files.find(name); known != files.end()) return known->second;
  if (fs::exists(name)) return name;
  std::vector<std::string_view> names;
  for (const auto& [each, path] : files) names.push_back(each);
  if (names.empty()) {
    throw UsageError(
        fmt::format("there is no \"{}\", and no folder {} to look in: give a file, or --configs "
                    "with the folder that has {}",
                    name, kind, kind));
  }
  const std::optional<std::string> meant = nearest_name(name, names);
  throw UsageError(fmt::format("there is no \"{}\"{} ({}: {})", name,
                               meant ? fmt::format("; did you mean \"{}\"?", *meant) : "", kind,
                               fmt::join(names, ", ")));
}

}  // namespace weft::tool
