// SPDX-License-Identifier: Apache-2.0
// Which file a name in a document means: relative to the document that names it, then to each
// --configs folder, then to the installed share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/strict_object.hpp"

namespace weft::config {

/// Where names are looked up after the naming document's own folder.
struct SearchPath {
  /// The folders of --configs, in order.
  std::vector<std::filesystem::path> configs;
  /// The share folder of an installed weft.
  std::optional<std::filesystem::path> installed;
};

/// The file that was found, or everywhere that was looked.
struct Resolution {
  std::optional<std::filesystem::path> file;
  std::vector<std::filesystem::path> looked;
};

/// Resolves `name`, which stands in the document `named_by` (empty: on the command line, relative
/// to the working directory); an absolute name is only looked up as it is.
Resolution resolve(std::string_view name, const std::filesystem::path& named_by,
                   const SearchPath& search);

/// The file that `name` may mean where it means none: of that name or nearly so, a .json of the folder `kind`
/// ("machines") beside or under where names are looked up, as a document there would write it.
std::optional<std::string> file_meant(std::string_view name, std::string_view kind,
                                      const std::filesystem::path& named_by,
                                      const SearchPath& search);

/// A name of a file as it stands in a document.
struct FileName {
  std::string text;
  friend bool operator==(const FileName&, const FileName&) = default;
};

template <>
struct Codec<FileName> {
  using RangeType = NoRange;
  static std::optional<FileName> read(const Spot& spot, NoRange);
  static TypeDescription describe(NoRange) { return {.type = "file", .keys = {}}; }
  static Value write(const FileName& name) { return name.text; }
};

/// Reads a key that names a file, and resolves it; a file that is not there is an error that lists
/// where it looked, and names a file of the key's kind (machine: machines) that may be meant.
std::filesystem::path required_file(StrictObject& object, Field field, const SearchPath& search);
/// The same for a key that may be absent.
std::optional<std::filesystem::path> optional_file(StrictObject& object, Field field,
                                                   const SearchPath& search);

}  // namespace weft::config
