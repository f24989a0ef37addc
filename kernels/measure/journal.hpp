// SPDX-License-Identifier: Apache-2.0
// The file that a run appends to, sample by sample, so that a killed run goes on where it stopped.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "calibration/sample/sample.hpp"

namespace weft::kernels {

/// A plain sample file (.jsonl) that is open for appending; a last line that was cut short is dropped.
class Journal {
 public:
  /// Reads what is there; throws config::ConfigErrors where that is no sample file.
  explicit Journal(std::filesystem::path file);

  /// Begins a run: the samples that follow belong to it.
  void begin(const calibration::Run& run);
  /// Appends a sample and hands it to the file system.
  void append(const calibration::Sample& sample);
  /// True where the case is in the file already.
  bool has(const calibration::Case& what) const { return keys_.contains(calibration::key(what)); }
  /// Samples in the file.
  std::size_t size() const { return keys_.size(); }

 private:
  void write(const std::string& line);

  std::filesystem::path file_;
  std::set<std::string> keys_;
};

/// Leaves out of `cases` what the journal has.
std::vector<calibration::Case> missing(const Journal& journal,
                                       const std::vector<calibration::Case>& cases);

/// A budget such as "8min", "90s" or "500ms" in seconds; throws std::invalid_argument.
double parse_budget(const std::string& text);

}  // namespace weft::kernels
