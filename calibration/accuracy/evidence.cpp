// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/evidence.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/core.h>

#include "calibration/fit/split.hpp"
#include "calibration/import/published_table.hpp"
#include "calibration/sample/sample_file.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {

namespace {

namespace fs = std::filesystem;

Sample published_row(Case what, Duration time, int run) {
  Sample sample;
  sample.what = std::move(what);
  sample.times = {time};
  sample.run = run;
  return sample;
}

/// A published table as samples: suite "published", run named after the file.
void append_table(const fs::path& file, SampleSet& set) {
  const std::string name = file.filename().string();
  const int run = static_cast<int>(set.runs.size());
  Run about;
  about.program = name;
  about.device = gpu_name(name);
  set.runs.push_back(about);
  Case what;
  what.suite = "published";
  what.figure = "time";
  if (name.find("__nccl") != std::string::npos) {
    what.library = "nccl";
    what.backend = "nccl";
    what.transport = "library";
    for (const CollectiveSample& row : read_collective_table(file)) {
      what.operation = std::string(weft::name_of(row.op));
      what.dtype = std::string(weft::name_of(row.dtype));
      what.ranks = static_cast<int>(row.ranks);
      what.bytes = row.message.count();
      set.samples.push_back(published_row(what, row.time, run));
    }
  } else if (name.find("__gemm") != std::string::npos) {
    what.operation = "gemm";
    what.library = "cublaslt";
    for (const GemmSample& row : read_gemm_table(file)) {
      what.dtype = std::string(weft::name_of(row.dtype));
      what.shape = Shape{row.m, row.n, row.k};
      set.samples.push_back(published_row(what, row.time, run));
    }
  }
}

void append(SampleSet& to, SampleSet from) {
  const int shift = static_cast<int>(to.runs.size());
  for (Sample& sample : from.samples) {
    sample.run += shift;
    to.samples.push_back(std::move(sample));
  }
  std::move(from.runs.begin(), from.runs.end(), std::back_inserter(to.runs));
}

std::vector<fs::path> files_at(const fs::path& place) {
  if (!fs::exists(place)) {
    std::vector<config::ConfigError> errors(1);
    errors[0].file = place.string();
    errors[0].message = "no such file or folder";
    throw config::ConfigErrors(std::move(errors));
  }
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Sums in the epilogue of own tiles are a form of a boundary that is measured, and that no schedule has.
bool has_schedule(const Case& what) {
  return what.schedule.empty() || what.variant.empty();
}

void mix(std::uint64_t& hash, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    hash = (hash ^ ((number >> shift) & 0xffu)) * 0x100000001b3u;
  }
}

}  // namespace

std::string gpu_name(const std::string& name) {
  std::string lower;
  for (const char c : name) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (lower.starts_with("nvidia ")) lower.erase(0, 7);
  return lower.substr(0, lower.find_first_of(" -_."));
}

Evidence Evidence::load(const std::vector<fs::path>& places) {
  Evidence evidence;
  std::set<fs::path> seen;
  for (const fs::path& place : places) {
    for (const fs::path& file : files_at(place)) {
      if (!seen.insert(fs::weakly_canonical(file)).second) continue;
      const std::string name = file.filename().string();
      if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) {
        append(evidence.ours_, load_samples(file));
      } else if (name.ends_with(".csv")) {
        append_table(file, evidence.theirs_);
      }
    }
  }
  return evidence;
}

Evidence Evidence::of(SampleSet set) {
  Evidence evidence;
  evidence.ours_ = std::move(set);
  return evidence;
}

std::vector<Observation> Evidence::of_gpu(const std::string& gpu) const {
  std::vector<Observation> list;
  for (const SampleSet* set : {&ours_, &theirs_}) {
    for (const Sample& sample : set->samples) {
      const Run& run = set->runs[static_cast<std::size_t>(sample.run)];
      if (gpu_name(run.device) != gpu || sample.times.empty() || !has_schedule(sample.what))
        continue;
      list.push_back({&sample, &run, set == &theirs_, static_cast<int>(list.size())});
    }
  }
  return list;
}

std::vector<std::string> Evidence::gpus() const {
  std::set<std::string> names;
  for (const SampleSet* set : {&ours_, &theirs_}) {
    for (const Run& run : set->runs) names.insert(gpu_name(run.device));
  }
  return {names.begin(), names.end()};
}

std::string Evidence::hash_of(const std::string& gpu) const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Observation& seen : of_gpu(gpu)) {
    for (const char c : key(seen.what())) mix(hash, static_cast<unsigned char>(c));
    for (const Duration time : seen.sample->times) {
      mix(hash, static_cast<std::uint64_t>(time.ps()));
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace weft::calibration
