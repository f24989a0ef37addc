// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/search_path.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "sim/units/quote.hpp"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find(StrictObject& object, Field field, const std::optional<FileName>& name,
                             const SearchPath& search) {
  if (!name) return std::nullopt;
  Resolution found = resolve(name->text, object.reading().file, search);
  if (!found.file) {
    std::vector<std::string> looked;
    for (const fs::path& path : found.looked) looked.push_back(path.string());
    object.error(field.name, fmt::format("no file {}", in_quotes(name->text, 200)),
                 fmt::format("looked for {}", fmt::join(looked, ", ")));
  }
  return found.file;
}

}  // namespace

Resolution resolve(std::string_view name, const fs::path& named_by, const SearchPath& search) {
  const fs::path relative(name);
  std::vector<fs::path> candidates;
  if (relative.is_absolute()) {
    candidates = {relative};
  } else {
    candidates.push_back(named_by.parent_path() / relative);
    for (const fs::path& folder : search.configs) candidates.push_back(folder / relative);
    if (search.installed) candidates.push_back(*search.installed / relative);
  }
  Resolution result;
  for (const fs::path& candidate : candidates) {
    const fs::path path = candidate.lexically_normal();
    if (std::ranges::find(result.looked, path) != result.looked.end()) continue;
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    result.looked.push_back(path);
    if (fs::exists(status) && !fs::is_directory(status)) {
      result.file = path;
      return result;
    }
  }
  return result;
}

std::optional<FileName> Codec<FileName>::read(const Spot& spot, NoRange) {
  auto text = Codec<std::string>::read(spot, {});
  if (!text) return std::nullopt;
  return FileName{std::move(*text)};
}

fs::path required_file(StrictObject& object, Field field, const SearchPath& search) {
  auto name = object.required<FileName>(field);
  if (name.text.empty()) return {};
  return find(object, field, std::move(name), search).value_or(fs::path{});
}

std::optional<fs::path> optional_file(StrictObject& object, Field field, const SearchPath& search) {
  return find(object, field, object.optional<FileName>(field), search);
}

}  // namespace weft::config
