// SPDX-License-Identifier: Apache-2.0
// The strict reader of sample lines. A line is a run, which all samples after it belong to, or a sample.
#include <algorithm>

#include "calibration/sample/sample_json.hpp"
#include "configs/reader/strict_object.hpp"

namespace weft::calibration {
namespace {

using config::above;
using config::at_least;
using config::StrictObject;

std::string text(StrictObject& object, config::Field field) {
  return object.optional<std::string>(field).value_or("");
}

int count(StrictObject& object, config::Field field) {
  return object.optional<int>(field, at_least(0)).value_or(0);
}

Shape read_shape(StrictObject& object) {
  return {
      .m = object.required<std::int64_t>({"m", "rows of X and Y"}, at_least(std::int64_t{1})),
      .n = object.required<std::int64_t>({"n", "rows of W, columns of Y"},
                                         at_least(std::int64_t{1})),
      .k = object.required<std::int64_t>({"k", "columns of X and W"}, at_least(std::int64_t{1}))};
}

Background read_background(StrictObject& object) {
  Background background;
  background.kind =
      object.required<std::string>({"kind", "spin, read, write, copy, reduce or copy_engine"});
  background.direction = text(object, {"direction", "device, to_device or to_host"});
  background.order = text(object, {"order", "traffic_first or gemm_first"});
  background.ctas = count(object, {"ctas", "CTAs that make the traffic"});
  background.pace_bytes_per_second =
      object
          .optional<std::int64_t>({"pace_bytes_per_second", "pace of all CTAs together"},
                                  at_least(std::int64_t{0}))
          .value_or(0);
  background.in_flight_bytes =
      object
          .optional<std::int64_t>({"in_flight_bytes", "outstanding bytes a CTA"},
                                  at_least(std::int64_t{0}))
          .value_or(0);
  return background;
}

Case read_case(StrictObject& object) {
  Case what;
  what.suite = object.required<std::string>({"suite", "suite that asked for it"});
  what.operation = object.required<std::string>({"operation", "what was measured"});
  what.figure =
      object.required<std::string>({"figure", "time, A, B, C, D, A_s, B_s, alone or beside"});
  what.model = text(object, {"model", "model that the shape is from"});
  what.boundary = text(object, {"boundary", "boundary of the model"});
  what.shape = object.optional_object({"shape", "extents of the product on one rank"}, read_shape);
  what.dtype = text(object, {"dtype", "type of the operands"});
  what.library = text(object, {"library", "weft, cublaslt, nccl or cuda"});
  what.backend =
      text(object, {"backend", "host_link, virtual_ranks, nccl, nccl_processes or peer_gpus"});
  what.transport = text(object, {"transport", "copy_engine, sm or library"});
  what.schedule = text(object, {"schedule", "serial, chunked or device_flag"});
  what.direction = text(object, {"direction", "to_device, to_host, both or device"});
  what.variant = text(object, {"variant", "form of the operation"});
  what.tp =
      object.optional<int>({"tp", "tensor-parallel size that the shape is cut for"}, at_least(1));
  what.ranks = object.optional<int>({"ranks", "ranks of the group"}, at_least(1));
  what.chunks = object.optional<int>({"chunks", "pieces of each rank's shard"}, at_least(1));
  what.margin = object.optional<int>({"margin", "SMs that the product leaves free"}, at_least(0));
  what.ctas = object.optional<int>({"ctas", "CTAs that move data"}, at_least(0));
  what.sms = object.optional<int>({"sms", "SMs that the product may count on"}, at_least(0));
  what.cluster = object.optional<int>({"cluster", "CTAs of a cluster"}, at_least(1));
  what.bytes = object.optional<std::int64_t>({"bytes", "payload"}, at_least(std::int64_t{0}));
  what.pace_bytes_per_second = object.optional<std::int64_t>(
      {"pace_bytes_per_second", "pace of all CTAs together; 0: free"}, at_least(std::int64_t{0}));
  what.in_flight_bytes = object.optional<std::int64_t>(
      {"in_flight_bytes", "outstanding bytes a CTA"}, at_least(std::int64_t{0}));
  what.pass = object.optional<int>({"pass", "which separate run"}, at_least(0));
  what.background = object.optional_object({"background", "traffic beside it"}, read_background);
  return what;
}

Kernel read_kernel(StrictObject& object) {
  Kernel kernel;
  kernel.name = text(object, {"name", "name of the device function"});
  kernel.tile =
      object.optional<std::vector<int>>({"tile", "rows of X, rows of W, depth"}, at_least(1))
          .value_or(std::vector<int>{});
  kernel.cluster =
      object.optional<std::vector<int>>({"cluster", "CTAs along X, along W"}, at_least(1))
          .value_or(std::vector<int>{});
  kernel.stages = count(object, {"stages", "operand stages"});
  kernel.split_k =
      object.optional<int>({"split_k", "parts of K that are summed"}, at_least(1)).value_or(1);
  kernel.grid = count(object, {"grid", "CTAs"});
  kernel.threads = count(object, {"threads", "threads a CTA"});
  return kernel;
}

Conditions read_conditions(StrictObject& object) {
  Conditions conditions;
  conditions.sm_mhz = count(object, {"sm_mhz", "median SM clock"});
  conditions.memory_mhz = count(object, {"memory_mhz", "median memory clock"});
  conditions.power_w = count(object, {"power_w", "median power"});
  conditions.temperature_c = count(object, {"temperature_c", "median temperature"});
  conditions.throttle =
      object.optional<std::vector<std::string>>({"throttle", "throttle reasons seen"})
          .value_or(std::vector<std::string>{});
  return conditions;
}

/// `modes` follows from the times: it is there for readers of the file, and is checked, not kept.
struct ReadMode {
  Duration median;
  double share = 0;
};

ReadMode read_mode(StrictObject& object) {
  return {Duration::from_ps(object.required<std::int64_t>({"median_ps", "median of the mode"},
                                                          above(std::int64_t{0}))),
          object.required<double>({"share", "share of the repetitions"}, above(0.0))};
}

Sample read_sample(StrictObject& object) {
  Sample sample;
  sample.what = object.required_object({"case", "what was measured"}, read_case);
  sample.kernel =
      object.optional_object({"kernel", "what computed"}, read_kernel).value_or(Kernel{});
  sample.conditions =
      object.optional_object({"conditions", "the device meanwhile"}, read_conditions)
          .value_or(Conditions{});
  const auto times = object.required<std::vector<std::int64_t>>(
      {"times_ps", "every repetition in order, in picoseconds"}, at_least(std::int64_t{0}));
  for (const std::int64_t ps : times) sample.times.push_back(Duration::from_ps(ps));
  if (times.empty() && object.has("times_ps"))
    object.error(std::string_view("times_ps"), "there is no repetition");
  sample.throttled =
      object
          .optional<std::vector<int>>({"throttled", "repetitions that were throttled"}, at_least(0))
          .value_or(std::vector<int>{});
  for (const int repetition : sample.throttled)
    if (static_cast<std::size_t>(repetition) >= times.size())
      object.error(std::string_view("throttled"),
                   "there is no repetition " + std::to_string(repetition));
  const auto found = object.optional_list({"modes", "two modes of the times"}, read_mode);
  if (!found.empty() && found.size() != modes(sample.times).size())
    object.error(std::string_view("modes"), "the times do not have these modes");
  sample.background_bytes_per_second =
      object
          .optional<std::vector<std::int64_t>>(
              {"background_bytes_per_second", "rate of the traffic, by repetition"},
              at_least(std::int64_t{0}))
          .value_or(std::vector<std::int64_t>{});
  sample.check =
      object.optional<double>({"check", "worst error over its tolerance"}, at_least(0.0));
  if (sample.check && *sample.check > 1.0)
    object.error(std::string_view("check"), "the output was wrong");
  return sample;
}

Run read_run(StrictObject& object) {
  Run run;
  run.program = text(object, {"program", "what measured"});
  run.started = text(object, {"started", "UTC, ISO 8601"});
  run.device = object.required<std::string>({"device", "name of the GPU"});
  run.devices = object.required<int>({"devices", "GPUs"}, at_least(1));
  run.sms =
      object.optional<int>({"sms", "SMs of a GPU; absent: not known"}, at_least(1)).value_or(0);
  run.driver = text(object, {"driver", "driver version"});
  run.cuda = text(object, {"cuda", "CUDA runtime version"});
  run.cublaslt = text(object, {"cublaslt", "cuBLASLt version"});
  run.nccl = text(object, {"nccl", "NCCL version"});
  run.git = text(object, {"git", "commit of the program"});
  return run;
}

void read_line(std::string_view line, const std::string& name, std::uint32_t number,
               SampleSet& set) {
  const config::Document document = config::Document::parse(line, name, {.first_line = number});
  const config::Value* record = document.root().find("record");
  const bool is_run = record != nullptr && record->is_string() && record->as_string() == "run";
  StrictObject object(document);
  if (is_run) object.schema(kSampleSchema, "a run of the program that measures");
  const auto kind = object.required<std::string>({"record", "run or sample"});
  if (is_run) {
    Run run = read_run(object);
    object.finish();
    set.runs.push_back(std::move(run));
    return;
  }
  if (kind != "sample") object.error(std::string_view("record"), "unknown record", "run or sample");
  if (set.runs.empty())
    object.error(std::string("this sample belongs to no run"), "a run line comes first");
  Sample sample = read_sample(object);
  object.finish();
  sample.run = static_cast<int>(set.runs.size()) - 1;
  set.samples.push_back(std::move(sample));
}

}  // namespace

void read_lines(std::string_view text, const std::string& name, SampleSet& set) {
  std::vector<config::ConfigError> errors;
  std::uint32_t number = 0;
  SampleSet read;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    try {
      read_line(line, name, number, read);
    } catch (const config::ConfigErrors& found) {
      errors.insert(errors.end(), found.errors().begin(), found.errors().end());
    }
  }
  if (!errors.empty()) throw config::ConfigErrors(std::move(errors));
  const int before = static_cast<int>(set.runs.size());
  set.runs.insert(set.runs.end(), read.runs.begin(), read.runs.end());
  for (Sample& sample : read.samples) {
    sample.run += before;
    set.samples.push_back(std::move(sample));
  }
}

}  // namespace weft::calibration
