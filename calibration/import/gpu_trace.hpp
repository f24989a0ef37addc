// SPDX-License-Identifier: Apache-2.0
// What GPUs did in a recorded trace, whichever profiler wrote it: kernels and copies with their
// times, each computation or communication by its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::calibration {

enum class ActivityKind : std::uint8_t { compute, communication, memory };

/// One kernel or copy; times in nanoseconds since the trace's zero.
struct Activity {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t what = 0;  ///< into GpuTrace::operations
  std::int32_t device = 0;
};

/// What an activity was: for communication the collective, its group and message where the trace
/// says so.
struct Operation {
  ActivityKind kind = ActivityKind::compute;
  std::string name;        ///< "AllReduce", "SendRecv", "peer copy"; else "compute"
  std::int64_t group = 0;  ///< ranks; 0: not said
  std::int64_t bytes = 0;  ///< of the message on one rank; 0: not said
  friend auto operator<=>(const Operation&, const Operation&) = default;
};

struct GpuTrace {
  std::string source;  ///< "PyTorch profiler", ...
  std::optional<std::int64_t> rank, world;
  std::map<std::int32_t, std::string> devices;  ///< names, where said
  std::vector<Operation> operations;
  std::vector<Activity> activities;
  bool cut = false;
  std::vector<config::ConfigError> notes;
};

/// Returns the collective that a kernel of this name runs, or nothing: NCCL's kernels of all
/// generations, those of NVSHMEM, UserBuffers, and the all-reduces of inference engines.
[[nodiscard]] std::optional<std::string> communication_of(std::string_view kernel);

/// Gives operations their index.
class OperationIndex {
 public:
  explicit OperationIndex(GpuTrace& trace) : trace_(trace) {}
  std::uint32_t of(const Operation& operation);

 private:
  GpuTrace& trace_;
  std::map<Operation, std::uint32_t> known_;
};

}  // namespace weft::calibration
