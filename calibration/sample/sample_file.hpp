// SPDX-License-Identifier: Apache-2.0
// Sample files on disk: JSON lines, plain (.jsonl) or compressed (.jsonl.gz).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/sample/sample.hpp"

namespace weft::calibration {

/// Reads a file; throws config::ConfigErrors with every error of the file.
SampleSet load_samples(const std::filesystem::path& file);

/// Reads every .jsonl and .jsonl.gz under a directory, in the order of their names, or one file.
SampleSet load_sample_tree(const std::filesystem::path& place);

/// Writes a set as a file that appears whole; its name decides whether it is compressed.
void save_samples(const std::filesystem::path& file, const SampleSet& set);

/// The text of a file, decompressed if it is gzip.
std::string read_maybe_compressed(const std::filesystem::path& file);

/// A gzip member that holds `text`, the same bytes for the same text.
std::string compress(std::string_view text);

}  // namespace weft::calibration
