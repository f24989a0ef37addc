// SPDX-License-Identifier: Apache-2.0
// All that was measured of one GPU, ours and others', in one list of samples.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/sample/sample.hpp"

namespace weft::calibration {

/// A sample with what it was measured on.
struct Observation {
  const Sample* sample = nullptr;
  const Run* run = nullptr;
  bool published = false;  ///< a row of another's table
  int held = 0;            ///< position in the whole evidence, for labels and order
  [[nodiscard]] const Case& what() const { return sample->what; }
  [[nodiscard]] Duration time() const { return median(sample->times); }
};

/// Samples read from files; owns them.
class Evidence {
 public:
  /// Reads .jsonl, .jsonl.gz and the tables (.csv) at and under these places, in the order of their names;
  /// throws config::ConfigErrors with everything that is wrong in the first file that cannot be read.
  static Evidence load(const std::vector<std::filesystem::path>& places);
  /// Takes samples that are there already; no row is of another's table.
  static Evidence of(SampleSet set);

  /// Returns the samples of one GPU (gpu_name), in the order in which they were read, but for forms of a boundary that
  /// no schedule has: they are neither fitted nor predicted.
  [[nodiscard]] std::vector<Observation> of_gpu(const std::string& gpu) const;
  /// Returns the GPUs, in alphabetical order.
  [[nodiscard]] std::vector<std::string> gpus() const;
  /// Returns 16 hexadecimal digits over the cases and times of one GPU.
  [[nodiscard]] std::string hash_of(const std::string& gpu) const;

 private:
  SampleSet ours_, theirs_;
};

/// The GPU that a device name, a table's file name or a profile's name speaks of: "NVIDIA H200",
/// "h200_sxm__nccl.csv" and "h200-sxm" are all of "h200".
[[nodiscard]] std::string gpu_name(const std::string& name);

}  // namespace weft::calibration
