// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: written beside their place, synced, then renamed.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace weft::config {

/// Replaces the file with `content`; throws std::system_error that names the file, and leaves the
/// old one as it was.
void write_file(const std::filesystem::path& file, std::string_view content);

/// Replaces the file with what `write` puts into the stream; an exception of `write` leaves the old
/// file as it was.
void write_file(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace weft::config
