// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "calibration/sample/sample_json.hpp"
#include "configs/reader/json_writer.hpp"

namespace weft::calibration {
namespace {

using config::Value;

void put(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

template <typename Number>
void put(Value& object, std::string_view key, const std::optional<Number>& number) {
  if (number) object.set(key, *number);
}

void put_positive(Value& object, std::string_view key, std::int64_t number) {
  if (number > 0) object.set(key, number);
}

template <typename Number>
Value list(const std::vector<Number>& numbers) {
  Value array = Value::array();
  for (const Number number : numbers) array.push(number);
  return array;
}

Value to_value(const Background& background) {
  Value object = Value::object();
  put(object, "kind", background.kind);
  put(object, "direction", background.direction);
  put(object, "order", background.order);
  put_positive(object, "ctas", background.ctas);
  put_positive(object, "pace_bytes_per_second", background.pace_bytes_per_second);
  put_positive(object, "in_flight_bytes", background.in_flight_bytes);
  return object;
}

Value to_value(const Kernel& kernel) {
  Value object = Value::object();
  put(object, "name", kernel.name);
  if (!kernel.tile.empty()) object.set("tile", list(kernel.tile));
  if (!kernel.cluster.empty()) object.set("cluster", list(kernel.cluster));
  put_positive(object, "stages", kernel.stages);
  if (kernel.split_k > 1) object.set("split_k", kernel.split_k);
  put_positive(object, "grid", kernel.grid);
  put_positive(object, "threads", kernel.threads);
  return object;
}

Value to_value(const Conditions& conditions) {
  Value object = Value::object();
  put_positive(object, "sm_mhz", conditions.sm_mhz);
  put_positive(object, "memory_mhz", conditions.memory_mhz);
  put_positive(object, "power_w", conditions.power_w);
  put_positive(object, "temperature_c", conditions.temperature_c);
  if (!conditions.throttle.empty()) {
    Value reasons = Value::array();
    for (const std::string& reason : conditions.throttle) reasons.push(reason);
    object.set("throttle", std::move(reasons));
  }
  return object;
}

}  // namespace

Value case_to_value(const Case& what) {
  Value object = Value::object();
  put(object, "suite", what.suite);
  put(object, "operation", what.operation);
  put(object, "figure", what.figure);
  put(object, "model", what.model);
  put(object, "boundary", what.boundary);
  if (what.shape)
    object.set("shape",
               Value::object({{"m", what.shape->m}, {"n", what.shape->n}, {"k", what.shape->k}}));
  put(object, "dtype", what.dtype);
  put(object, "library", what.library);
  put(object, "backend", what.backend);
  put(object, "transport", what.transport);
  put(object, "schedule", what.schedule);
  put(object, "direction", what.direction);
  put(object, "variant", what.variant);
  put(object, "tp", what.tp);
  put(object, "ranks", what.ranks);
  put(object, "chunks", what.chunks);
  put(object, "margin", what.margin);
  put(object, "ctas", what.ctas);
  put(object, "sms", what.sms);
  put(object, "cluster", what.cluster);
  put(object, "bytes", what.bytes);
  put(object, "pace_bytes_per_second", what.pace_bytes_per_second);
  put(object, "in_flight_bytes", what.in_flight_bytes);
  put(object, "pass", what.pass);
  if (what.background) object.set("background", to_value(*what.background));
  return object;
}

std::string to_line(const Run& run) {
  Value object = Value::object({{"schema", kSampleSchema}, {"record", "run"}});
  put(object, "program", run.program);
  put(object, "started", run.started);
  put(object, "device", run.device);
  object.set("devices", run.devices);
  put_positive(object, "sms", run.sms);
  put(object, "driver", run.driver);
  put(object, "cuda", run.cuda);
  put(object, "cublaslt", run.cublaslt);
  put(object, "nccl", run.nccl);
  put(object, "git", run.git);
  return config::to_json(object, config::Layout::compact);
}

std::string to_line(const Sample& sample) {
  Value object = Value::object({{"record", "sample"}});
  object.set("case", case_to_value(sample.what));
  if (sample.kernel != Kernel{}) object.set("kernel", to_value(sample.kernel));
  if (sample.conditions != Conditions{}) object.set("conditions", to_value(sample.conditions));
  Value times = Value::array();
  for (const Duration time : sample.times) times.push(time.ps());
  object.set("times_ps", std::move(times));
  if (!sample.throttled.empty()) object.set("throttled", list(sample.throttled));
  if (const std::vector<Mode> found = modes(sample.times); found.size() > 1) {
    Value array = Value::array();
    for (const Mode& mode : found)
      array.push(Value::object({{"median_ps", mode.median.ps()}, {"share", mode.share}}));
    object.set("modes", std::move(array));
  }
  if (!sample.background_bytes_per_second.empty())
    object.set("background_bytes_per_second", list(sample.background_bytes_per_second));
  if (sample.check) object.set("check", std::round(*sample.check * 1e4) / 1e4);
  return config::to_json(object, config::Layout::compact);
}

}  // namespace weft::calibration
