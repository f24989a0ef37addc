// SPDX-License-Identifier: Apache-2.0
// What one measurement was of, and what came out: the values behind the lines of a sample file
// (schema weft.sample/1). docs: calibration/sample/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units/time.hpp"

namespace weft::calibration {

/// Extents of a product Y[m, n] = X[m, k] W[n, k]^T on one rank.
struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Traffic that runs beside what is measured.
struct Background {
  std::string kind;       ///< spin, read, write, copy, reduce, copy_engine
  std::string direction;  ///< device, to_device, to_host
  std::string order;      ///< traffic_first or gemm_first: which became resident first
  int ctas = 0;
  std::int64_t pace_bytes_per_second = 0;  ///< all CTAs together; 0: free
  std::int64_t in_flight_bytes = 0;        ///< a CTA; 0: what the kernel can hold
  friend bool operator==(const Background&, const Background&) = default;
};

/// What is measured. Empty strings and absent numbers are left out of the file.
struct Case {
  std::string suite;      ///< the suite that asked for it
  std::string operation;  ///< gemm, ag_gemm, ..., all_gather, ..., launch, copy, ...
  std::string figure;     ///< time, or A, B, C, D, A_s, B_s, alone, beside
  std::string model;      ///< the model that the shape is from
  std::string boundary;   ///< the boundary of it
  std::optional<Shape> shape;
  std::string dtype;
  std::string library;    ///< weft, cublaslt, nccl or cuda
  std::string backend;    ///< host_link, virtual_ranks, nccl, peer_gpus
  std::string transport;  ///< copy_engine, sm, library
  std::string schedule;   ///< serial, chunked, device_flag
  std::string direction;  ///< to_device, to_host, both, device
  std::string variant;    ///< of an operation: landing, scheduler, memory...
  std::optional<int> tp;  ///< tensor-parallel size that the shape is cut for
  std::optional<int> ranks;
  std::optional<int> chunks;  ///< pieces of each rank's shard
  std::optional<int> margin;  ///< SMs that the GEMM leaves free
  std::optional<int> ctas;    ///< that move data
  std::optional<int> sms;     ///< that the GEMM may count on
  std::optional<int> cluster;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> pace_bytes_per_second;
  std::optional<std::int64_t> in_flight_bytes;
  std::optional<int> pass;  ///< which separate run of the program, where that matters
  std::optional<Background> background;
  friend bool operator==(const Case&, const Case&) = default;
};

/// The kernel that computed.
struct Kernel {
  std::string name;
  std::vector<int> tile;     ///< rows of X, rows of W, depth; empty: unknown
  std::vector<int> cluster;  ///< along rows of X, along rows of W; empty: unknown
  int stages = 0;
  int split_k = 1;
  int grid = 0;
  int threads = 0;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The device while it was measured; medians over the case.
struct Conditions {
  int sm_mhz = 0;
  int memory_mhz = 0;
  int power_w = 0;
  int temperature_c = 0;
  std::vector<std::string> throttle;  ///< reasons seen at least once, in alphabetical order
  friend bool operator==(const Conditions&, const Conditions&) = default;
};

/// One measured case with every repetition.
struct Sample {
  Case what;
  Kernel kernel;
  Conditions conditions;
  std::vector<Duration> times;  ///< every repetition, in the order in which they ran
  std::vector<int> throttled;   ///< repetitions during which the device throttled
  std::vector<std::int64_t> background_bytes_per_second;  ///< one a repetition, or none
  std::optional<double> check;  ///< worst error over its tolerance; at most 1 is right
  int run = 0;                  ///< index into the runs of its set
};

/// One run of the program that measures, and what it ran on.
struct Run {
  std::string program;
  std::string started;  ///< UTC, ISO 8601
  std::string device;
  int devices = 1;
  int sms = 0;
  std::string driver;
  std::string cuda;
  std::string cublaslt;
  std::string nccl;
  std::string git;  ///< commit, with -dirty where the tree was
  friend bool operator==(const Run&, const Run&) = default;
};

/// A file or a set of files.
struct SampleSet {
  std::vector<Run> runs;
  std::vector<Sample> samples;
};

/// The median; of an even count, the lower of the two in the middle.
Duration median(std::vector<Duration> times);

/// A mode of a distribution of times.
struct Mode {
  Duration median;
  double share = 0;
};

/// One mode, or two where the sorted times fall apart into groups of at least a fifth each with a gap
/// over 5 % of the median and over four times the spread (quartile distance) within either.
std::vector<Mode> modes(const std::vector<Duration>& times);

/// A hash of the case alone, 16 hexadecimal digits: the same case has the same key in every run.
std::string key(const Case& what);

}  // namespace weft::calibration
