// SPDX-License-Identifier: Apache-2.0
// What a suite file (weft.suite/1) asks for, and the jobs that follow from it: lists of cases that are
// measured interleaved. No CUDA here, so that plans are made and tested without a device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibration/sample/sample.hpp"

namespace weft::kernels {

/// The hyper-parameters of a model that its boundaries follow from.
struct ModelShape {
  std::string name;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool gated = true;
};

/// A product of a model under tensor parallelism and the collective beside it.
struct ModelBoundary {
  std::string model;
  std::string name;       ///< qkv, attention_out, mlp_up, mlp_down
  std::string operation;  ///< ag_gemm or gemm_rs
  int tp = 1;
  std::int64_t n = 0;  ///< on one rank
  std::int64_t k = 0;
  std::vector<std::int64_t> tokens;  ///< rows that a suite asks for
};

/// A model at one cut with the rows that it is measured with.
struct ShapeChoice {
  std::string model;
  int tp = 1;
  std::vector<std::int64_t> tokens;
};

/// The four boundaries of a layer at `tp`; those whose extents do not divide, or are no multiples of
/// 8, are left out.
std::vector<ModelBoundary> boundaries_of(const ModelShape& model, int tp);

/// What a suite asks for; an empty list asks for nothing.
struct Suite {
  std::string name;
  std::string kind;  ///< primitives, waits, gemm, interference, boundary, decision or collectives
  std::string doc;
  int priority = 0;  ///< lower runs first
  int repetitions = 20;
  int warm_up = 2;
  int rest = 0;  ///< idle time after each repetition of what has a product, in repetitions
  std::vector<ModelShape> models;
  std::vector<std::string> boundaries;
  std::vector<std::string> operations;  ///< empty: ag_gemm and gemm_rs
  std::vector<std::int64_t> tokens;
  std::vector<int> tp;
  std::vector<ShapeChoice> shapes;  ///< where not every model has every tp and all tokens
  std::vector<std::string> libraries;
  std::vector<std::string> backends;
  std::vector<int> ranks;
  std::vector<int> chunks;
  std::vector<int> margins;
  std::vector<int> ctas;
  std::vector<int> sm_counts;
  std::vector<int> clusters;  ///< sizes that our product is measured with; empty: as chosen
  std::vector<std::string> transports;
  std::vector<std::string> schedules;
  std::vector<std::string> figures;  ///< of boundaries; empty: all
  bool both_orders = false;    ///< what is summed in its launch also with owners that take turns
  bool epilogue_sums = false;  ///< what flags reduce also with sums in the epilogue of own tiles
  std::vector<std::int64_t> sizes_bytes;
  std::vector<std::int64_t> paces_bytes_per_second;
  std::vector<std::int64_t> in_flight_bytes;
  std::int64_t link_pace_bytes_per_second =
      0;  ///< 95 % of the link: what communication CTAs keep to
  /// Under way over the link, each way, where writes and reads of one launch meet; 0: no limit.
  std::int64_t link_in_flight_bytes = 0;
  std::int64_t least_chunk_rows = 64;  ///< cells with thinner chunks are not legal
  std::int64_t most_milliseconds = 0;  ///< products estimated longer are left out; 0: none
};

/// Reads a suite file; throws config::ConfigErrors.
Suite load_suite(const std::filesystem::path& file);

/// Cases that are measured together, interleaved.
struct Job {
  std::string kind;  ///< of its suite
  std::vector<calibration::Case> cases;
  int repetitions = 20;
  int warm_up = 2;
  int rest = 0;
  int priority = 0;
  double estimated_seconds = 0;
  std::int64_t expected_ns = 0;  ///< of a product that was timed alone before, beside traffic
};

/// What became of a job.
struct JobResult {
  std::vector<calibration::Sample> samples;
  std::vector<std::string>
      refusals;  ///< one line for each case that could not be measured, and why
};

/// The jobs of a suite, in an order that spreads over its shapes (by a hash of the first case).
std::vector<Job> plan_jobs(const Suite& suite);

/// The jobs that re-measure the `best` fastest cells and serial of every decision case in `set`; `rests` has the
/// idle time after each repetition by suite, none where it has no entry.
std::vector<Job> plan_again(const calibration::SampleSet& set, int pass, int best,
                            const std::map<std::string, int>& rests = {});

/// Seconds that one repetition of a case takes, by datasheet rates: for budgets alone.
double estimated_seconds(const calibration::Case& what);

}  // namespace weft::kernels
