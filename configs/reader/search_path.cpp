// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/search_path.hpp"

#include <algorithm>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

// The .json files of a folder by their stems, under `written`; those that are there already stay.
void add_files(std::map<std::string, std::string>& files, const fs::path& folder,
               const fs::path& written) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& file = entry->path();
    if (file.extension() == ".json")
      files.try_emplace(file.stem().string(), (written / file.filename()).generic_string());
  }
}

std::optional<fs::path> find(StrictObject& object, Field field, const std::optional<FileName>& name,
                             const SearchPath& search) {
  if (!name) return std::nullopt;
  Resolution found = resolve(name->text, object.reading().file, search);
  if (!found.file) {
    std::vector<std::string> looked;
    for (const fs::path& path : found.looked) looked.push_back(path.string());
    const auto meant =
        file_meant(name->text, std::string(field.name) + "s", object.reading().file, search);
    object.error(
        field.name, fmt::format("no file {}", in_quotes(name->text, 200)),
        fmt::format("{}looked for {}", meant ? fmt::format("did you mean \"{}\"? ", *meant) : "",
                    fmt::join(looked, ", ")));
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

std::optional<std::string> file_meant(std::string_view name, std::string_view kind,
                                      const fs::path& named_by, const SearchPath& search) {
  const fs::path beside = named_by.parent_path();
  std::map<std::string, std::string> files;
  add_files(files, beside / kind, kind);
  add_files(files, beside / ".." / kind, fs::path("..") / kind);
  for (const fs::path& folder : search.configs) add_files(files, folder / kind, kind);
  if (search.installed) add_files(files, *search.installed / kind, kind);
  std::vector<std::string_view> stems;
  for (const auto& [stem, file] : files) stems.push_back(stem);
  const auto nearest = nearest_name(fs::path(name).stem().string(), stems);
  if (!nearest) return std::nullopt;
  return files.at(*nearest);
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
