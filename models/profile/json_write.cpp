// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/codec.hpp"
#include "models/profile/json.hpp"
#include "models/profile/names.hpp"
#include "models/profile/product_rows.hpp"

namespace weft::model {

namespace {

using config::to_value;
using config::Value;

Value source_value(const Source& source) {
  return config::detail::write_source(source);
}

template <class T, class Write>
Value list(const std::vector<T>& items, Write write) {
  Value array = Value::array();
  for (const T& item : items) array.push(write(item));
  return array;
}

Value write_gpu(const GpuFigures& gpu) {
  Value value = Value::object({{"architecture", gpu.architecture}, {"sms", to_value(gpu.sms)}});
  if (gpu.sms_per_gpc) value.set("sms_per_gpc", to_value(*gpu.sms_per_gpc));
  value.set(
      "matrix", list(gpu.matrix, [](const MatrixRate& rate) {
        return Value::object({{"dtype", to_value(rate.dtype)}, {"peak", to_value(rate.peak)}});
      }));
  value.set("vector_fp32", to_value(gpu.vector_fp32));
  value.set("hbm", to_value(gpu.hbm));
  value.set("hbm_size", to_value(gpu.hbm_size));
  value.set("l2", to_value(gpu.l2));
  value.set("l2_size", to_value(gpu.l2_size));
  value.set("link_per_direction", to_value(gpu.link_per_direction));
  return value;
}

Value write_control(const ControlCosts& control) {
  Value value = Value::object({{"host_call", to_value(control.host_call)},
                               {"graph_launch", to_value(control.graph_launch)},
                               {"launch", to_value(control.launch)},
                               {"kernel_drain", to_value(control.kernel_drain)},
                               {"event_hop", to_value(control.event_hop)},
                               {"signal_same_sm", to_value(control.signal_same_sm)},
                               {"signal_same_device", to_value(control.signal_same_device)},
                               {"signal_peer", to_value(control.signal_peer)},
                               {"signal_host", to_value(control.signal_host)},
                               {"stream_write", to_value(control.stream_write)},
                               {"stream_wait", to_value(control.stream_wait)},
                               {"launch_jitter", to_value(control.launch_jitter)}});
  if (control.stream_wait_there)
    value.set("stream_wait_there", to_value(*control.stream_wait_there));
  if (control.stream_wait_peers)
    value.set("stream_wait_peers", to_value(*control.stream_wait_peers));
  if (control.stream_write_peers)
    value.set("stream_write_peers", to_value(*control.stream_write_peers));
  if (control.stream_poll) value.set("stream_poll", to_value(*control.stream_poll));
  if (control.tile_flag) value.set("tile_flag", to_value(*control.tile_flag));
  if (control.store_slot) value.set("store_slot", to_value(*control.store_slot));
  return value;
}

Value write_copy_engine(const CopyEngineCosts& costs) {
  Value value = Value::object({{"path", to_value(costs.path)},
                               {"start", to_value(costs.start)},
                               {"rate", to_value(costs.rate)},
                               {"duplex_rate", to_value(costs.duplex_rate)}});
  if (costs.paired_rate) value.set("paired_rate", to_value(*costs.paired_rate));
  return value;
}

Value write_sm_copy(const SmCopyCosts& costs) {
  Value value = Value::object({{"path", to_value(costs.path)},
                               {"per_cta", to_value(costs.per_cta)},
                               {"cap", to_value(costs.cap)},
                               {"threads", to_value(costs.threads)}});
  if (costs.start) value.set("start", to_value(*costs.start));
  if (costs.duplex_start) value.set("duplex_start", to_value(*costs.duplex_start));
  if (costs.duplex_cap) value.set("duplex_cap", to_value(*costs.duplex_cap));
  if (costs.launch_per_cta) value.set("launch_per_cta", to_value(*costs.launch_per_cta));
  if (costs.sum_per_cta) value.set("sum_per_cta", to_value(*costs.sum_per_cta));
  if (costs.sum_cap) value.set("sum_cap", to_value(*costs.sum_cap));
  return value;
}

Value write_tile(const GemmTile& tile) {
  return Value::object({{"m", tile.tile_m},
                        {"n", tile.tile_n},
                        {"k", tile.tile_k},
                        {"stages", tile.stages},
                        {"cluster_m", tile.cluster_m},
                        {"cluster_n", tile.cluster_n},
                        {"threads", tile.threads},
                        {"registers_per_thread", tile.registers_per_thread},
                        {"shared_memory", to_value(tile.shared_memory)},
                        {"persistent", tile.persistent},
                        {"overlaps_epilogue", tile.overlaps_epilogue},
                        {"split_k", tile.split_k},
                        {"source", source_value(tile.source)}});
}

Value write_behind(const BehindAnother& behind) {
  Value value = Value::object({{"time", to_value(behind.time)}});
  if (behind.time_peers) value.set("time_peers", to_value(*behind.time_peers));
  if (behind.kept) value.set("kept", to_value(*behind.kept));
  if (behind.waits) value.set("waits", to_value(*behind.waits));
  return value;
}

Value write_gemm(const GemmConstants& gemm) {
  Value value = Value::object({{"start", to_value(gemm.start)},
                               {"prologue", to_value(gemm.prologue)},
                               {"step", to_value(gemm.step)},
                               {"matrix_efficiency", to_value(gemm.matrix_efficiency)},
                               {"epilogue_exposed", to_value(gemm.epilogue_exposed)},
                               {"load_latency", to_value(gemm.load_latency)},
                               {"split_reduction", to_value(gemm.split_reduction)},
                               {"overhang_row", to_value(gemm.overhang_row)},
                               {"hbm_efficiency", to_value(gemm.hbm_efficiency)},
                               {"l2_efficiency", to_value(gemm.l2_efficiency)},
                               {"sustained_clock", to_value(gemm.sustained_clock)},
                               {"power_exponent", to_value(gemm.power_exponent)},
                               {"power_limited_clock", to_value(gemm.power_limited_clock)}});
  if (gemm.answer) {
    Value answer = Value::object({{"fresh_clock", to_value(gemm.answer->fresh_clock)},
                                  {"after", to_value(gemm.answer->after)},
                                  {"low_clock", to_value(gemm.answer->low_clock)},
                                  {"lasts", to_value(gemm.answer->lasts)}});
    if (gemm.answer->exponent) answer.set("exponent", to_value(*gemm.answer->exponent));
    value.set("answer", std::move(answer));
  }
  if (gemm.drain) value.set("drain", to_value(*gemm.drain));
  if (gemm.behind) value.set("behind", write_behind(*gemm.behind));
  if (gemm.own) {
    Value own = Value::object({{"start", to_value(gemm.own->start)},
                               {"epilogue_exposed", to_value(gemm.own->epilogue_exposed)}});
    if (gemm.own->behind) own.set("behind", write_behind(*gemm.own->behind));
    value.set("own", std::move(own));
  }
  if (!gemm.corrections.empty()) {
    value.set("corrections", write_corrections(gemm.corrections));
  }
  value.set("tiles", list(gemm.tiles, write_tile));
  if (!gemm.measured.empty()) value.set("measured", write_measured(gemm.measured));
  if (!gemm.measured_on_parts.empty())
    value.set("measured_on_parts", write_measured(gemm.measured_on_parts));
  return value;
}

Value write_protocol(const ProtocolCosts& costs) {
  Value value = Value::object({{"op", to_value(costs.op)},
                               {"algorithm", to_value(costs.algorithm)},
                               {"protocol", to_value(costs.protocol)},
                               {"min_ranks", costs.min_ranks},
                               {"max_ranks", costs.max_ranks},
                               {"base", to_value(costs.base)},
                               {"hop", to_value(costs.hop)},
                               {"slack", to_value(costs.slack)},
                               {"rate", to_value(costs.rate)},
                               {"local_steps", to_value(costs.local_steps)}});
  if (costs.per_peer) value.set("per_peer", to_value(*costs.per_peer));
  if (costs.shared) value.set("shared", to_value(*costs.shared));
  value.set("ctas", to_value(costs.ctas));
  return value;
}

}  // namespace

config::Value to_value(const Profile& profile) {
  Value value = Value::object({{"schema", "weft.profile/1"},
                               {"name", profile.name},
                               {"description", profile.description},
                               {"gpu", write_gpu(profile.gpu)},
                               {"control", write_control(profile.control)}});
  value.set("copy_engines", list(profile.copy_engines, write_copy_engine));
  value.set("sm_copies", list(profile.sm_copies, write_sm_copy));
  if (profile.sums) {
    value.set("sums", Value::object({{"start", to_value(profile.sums->start)},
                                     {"tail", to_value(profile.sums->tail)},
                                     {"per_cta", to_value(profile.sums->per_cta)},
                                     {"cap", to_value(profile.sums->cap)}}));
  }
  if (profile.gemm) value.set("gemm", write_gemm(*profile.gemm));
  value.set("attention", list(profile.attention, [](const AttentionConstants& attention) {
              return Value::object({{"head_dim", attention.head_dim},
                                    {"start", to_value(attention.start)},
                                    {"matrix_efficiency", to_value(attention.matrix_efficiency)},
                                    {"tile_prologue", to_value(attention.tile_prologue)}});
            }));
  if (profile.memory) {
    value.set("memory", Value::object({{"start", to_value(profile.memory->start)},
                                       {"hbm_efficiency", to_value(profile.memory->hbm_efficiency)},
                                       {"per_sm", to_value(profile.memory->per_sm)}}));
  }
  value.set("collectives", list(profile.collectives, write_protocol));
  if (profile.network) {
    value.set("network", Value::object({{"hop", to_value(profile.network->hop)},
                                        {"efficiency", to_value(profile.network->efficiency)}}));
  }
  value.set("interference", list(profile.interference, [](const InterferenceTerm& term) {
              Value one = Value::object({{"name", term.name},
                                         {"regime", term.regime},
                                         {"slow_down", to_value(term.slow_down)}});
              if (term.access) one.set("access", to_value(*term.access));
              if (!term.full_link) one.set("full_link", false);
              if (term.between_devices) one.set("between_devices", true);
              if (term.launch) one.set("launch", to_value(*term.launch));
              if (term.round_trip) one.set("round_trip", to_value(*term.round_trip));
              if (term.pace) one.set("pace", to_value(*term.pace));
              if (!term.points.empty()) {
                one.set("points", list(term.points, [](const InterferencePoint& point) {
                          return Value::object(
                              {{"ctas", point.ctas}, {"slow_down", to_value(point.slow_down)}});
                        }));
              }
              return one;
            }));
  value.set("errors", list(profile.errors, [](const FamilyError& error) {
              Value object = Value::object({{"family", error.family},
                                            {"rows", error.rows},
                                            {"median", error.median},
                                            {"p95", error.p95},
                                            {"worst", error.worst},
                                            {"bias", error.bias},
                                            {"low", error.low},
                                            {"high", error.high}});
              if (error.ranks) object.set("ranks", *error.ranks);
              const auto text = [](const std::string& name) { return Value(name); };
              if (!error.operations.empty()) object.set("operations", list(error.operations, text));
              if (!error.transports.empty()) object.set("transports", list(error.transports, text));
              object.set("source", source_value(error.source));
              return object;
            }));
  return value;
}

}  // namespace weft::model
