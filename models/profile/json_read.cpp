// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "configs/reader/strict_object.hpp"
#include "models/profile/json.hpp"
#include "models/profile/names.hpp"
#include "models/profile/product_rows.hpp"

namespace weft::model {

namespace {

using config::above;
using config::at_least;
using config::between;
using config::Field;
using config::StrictObject;

Sourced<Duration> duration(StrictObject& object, Field field) {
  return object.required<Sourced<Duration>>(field, at_least(Duration{}));
}
Sourced<Bandwidth> rate(StrictObject& object, Field field) {
  return object.required<Sourced<Bandwidth>>(field, above(Bandwidth{}));
}
Sourced<Bytes> size(StrictObject& object, Field field) {
  return object.required<Sourced<Bytes>>(field, at_least(Bytes{}));
}
Sourced<double> share(StrictObject& object, Field field, double most) {
  return object.required<Sourced<double>>(field, between(0.0, most));
}
/// A share that something is divided by.
Sourced<double> efficiency(StrictObject& object, Field field, double most) {
  return object.required<Sourced<double>>(field, config::Range<double>(0.0, most, true));
}
Sourced<std::int64_t> whole(StrictObject& object, Field field) {
  return object.required<Sourced<std::int64_t>>(field, at_least(std::int64_t{1}));
}

MatrixRate read_matrix_rate(StrictObject& object) {
  MatrixRate matrix;
  matrix.dtype = object.required<DType>({"dtype", "the operands' dtype"});
  matrix.peak = object.required<Sourced<FlopRate>>(
      {"peak", "dense rate of the device at boost clock"}, above(FlopRate{}));
  return matrix;
}

GpuFigures read_gpu(StrictObject& object) {
  GpuFigures gpu;
  gpu.architecture = object.required<std::string>({"architecture", "the compute architecture"});
  gpu.sms = whole(object, {"sms", "SMs, or whatever the device's compute units are called"});
  gpu.sms_per_gpc = object.optional<Sourced<std::vector<int>>>(
      {"sms_per_gpc", "SMs of each GPC: a cluster must fit inside one"});
  gpu.matrix = object.required_list({"matrix", "matrix rates by dtype"}, read_matrix_rate);
  gpu.vector_fp32 = object.required<Sourced<FlopRate>>(
      {"vector_fp32", "rate of fp32 outside the matrix units"}, above(FlopRate{}));
  gpu.hbm = rate(object, {"hbm", "bandwidth of the device's memory, reads and writes together"});
  gpu.hbm_size = size(object, {"hbm_size", "size of the device's memory"});
  gpu.l2 = rate(object, {"l2", "bandwidth of the L2 cache to all SMs"});
  gpu.l2_size = size(object, {"l2_size", "size of the L2 cache"});
  gpu.link_per_direction = rate(
      object, {"link_per_direction", "scale-up links of one device, that rates below belong to"});
  return gpu;
}

ControlCosts read_control(StrictObject& object) {
  ControlCosts control;
  control.host_call =
      duration(object, {"host_call", "host time of one launch, copy, record or wait"});
  control.graph_launch = duration(object, {"graph_launch", "host time of launching a whole graph"});
  control.launch = duration(object, {"launch", "from the head of a queue to the first CTA"});
  control.kernel_drain =
      duration(object, {"kernel_drain", "from the last CTA's end to what a successor sees"});
  control.event_hop =
      duration(object, {"event_hop", "record on one stream to the release of a wait on another"});
  control.signal_same_sm = duration(object, {"signal_same_sm", "a flag inside one SM"});
  control.signal_same_device =
      duration(object, {"signal_same_device", "a flag between SMs, one way"});
  control.signal_peer = duration(object, {"signal_peer", "a flag to another device, one way"});
  control.signal_host = duration(object, {"signal_host", "a flag to or from host memory, one way"});
  control.stream_write = duration(object, {"stream_write", "a stream's write of a signal"});
  control.stream_wait =
      duration(object, {"stream_wait", "from a signal to what follows a stream's wait for it"});
  control.launch_jitter =
      duration(object, {"launch_jitter", "ready times closer than this may go either way"});
  control.stream_wait_there = object.optional<Sourced<Duration>>(
      {"stream_wait_there", "the same of a signal that is there, from when the stream comes to it"},
      at_least(Duration()));
  control.stream_wait_peers = object.optional<Sourced<Duration>>(
      {"stream_wait_peers", "the same wait on ranks whose bytes go straight between devices"},
      at_least(Duration()));
  control.stream_write_peers = object.optional<Sourced<Duration>>(
      {"stream_write_peers", "a stream's write of a signal behind a copy that came from a peer"},
      at_least(Duration()));
  control.stream_poll = object.optional<Sourced<Duration>>(
      {"stream_poll", "how often a stream looks again for a signal that it did not find"},
      at_least(Duration()));
  control.tile_flag = object.optional<Sourced<Duration>>(
      {"tile_flag", "of a tile behind its store, for each chunk that its rows lie in"},
      at_least(Duration()));
  control.store_slot = object.optional<Sourced<Duration>>(
      {"store_slot", "of each slot that a store warp sends of a tile whose flag follows"},
      at_least(Duration()));
  return control;
}

CopyEngineCosts read_copy_engine(StrictObject& object) {
  CopyEngineCosts costs;
  costs.path = object.required<CopyPath>({"path", "which way the bytes go"});
  costs.start = duration(object, {"start", "cost of one copy beside its bytes"});
  costs.rate = rate(object, {"rate", "alone"});
  costs.duplex_rate = rate(object, {"duplex_rate", "while the other direction runs too"});
  costs.paired_rate = object.optional<Sourced<Bandwidth>>(
      {"paired_rate", "of each of two copies the same way at once"}, above(Bandwidth{}));
  return costs;
}

SmCopyCosts read_sm_copy(StrictObject& object) {
  SmCopyCosts costs;
  costs.path = object.required<CopyPath>({"path", "which way the bytes go"});
  costs.per_cta = rate(object, {"per_cta", "payload that one CTA moves"});
  costs.cap = rate(object, {"cap", "payload that any number of CTAs moves"});
  costs.threads = whole(object, {"threads", "threads of such a CTA"});
  costs.start = object.optional<Sourced<Duration>>({"start", "of a piece, beside its bytes"},
                                                   at_least(Duration()));
  costs.duplex_start = object.optional<Sourced<Duration>>(
      {"duplex_start", "of a piece while CTAs move as much the other way"}, at_least(Duration()));
  costs.duplex_cap = object.optional<Sourced<Bandwidth>>(
      {"duplex_cap", "payload that CTAs move while others move as much the other way"});
  costs.launch_per_cta = object.optional<Sourced<Bandwidth>>(
      {"launch_per_cta", "payload that one CTA moves in a product's launch"}, above(Bandwidth{}));
  costs.sum_per_cta = object.optional<Sourced<Bandwidth>>(
      {"sum_per_cta", "payload that one CTA adds to what is there"}, above(Bandwidth{}));
  costs.sum_cap = object.optional<Sourced<Bandwidth>>(
      {"sum_cap", "payload that any number of CTAs adds"}, above(Bandwidth{}));
  return costs;
}

SumCosts read_sums(StrictObject& object) {
  SumCosts costs;
  costs.start =
      duration(object, {"start", "of a piece: from its flags to its sum, beside its bytes"});
  costs.tail = duration(
      object, {"tail", "of the last piece: stores on their way and first loads of its sum"});
  costs.per_cta = rate(object, {"per_cta", "bytes that one CTA moves, reads and writes together"});
  costs.cap = rate(object, {"cap", "bytes that any number of CTAs moves"});
  return costs;
}

GemmTile read_tile(StrictObject& object) {
  const auto positive = between(std::int64_t{1}, std::int64_t{1} << 20);
  GemmTile tile;
  tile.tile_m = object.required<std::int64_t>({"m", "rows of the tile"}, positive);
  tile.tile_n = object.required<std::int64_t>({"n", "columns of the tile"}, positive);
  tile.tile_k = object.required<std::int64_t>({"k", "depth of one K step"}, positive);
  tile.stages = object.required<std::int64_t>({"stages", "K steps in flight"}, positive);
  tile.cluster_m =
      object.required<std::int64_t>({"cluster_m", "CTAs of a cluster along m"}, positive);
  tile.cluster_n =
      object.required<std::int64_t>({"cluster_n", "CTAs of a cluster along n"}, positive);
  tile.threads = object.required<std::int64_t>({"threads", "threads of a CTA"}, positive);
  tile.registers_per_thread =
      object.required<std::int64_t>({"registers_per_thread", "registers of a thread"}, positive);
  tile.shared_memory =
      object.required<Bytes>({"shared_memory", "shared memory of a CTA"}, at_least(Bytes{}));
  tile.persistent = object.required<bool>({"persistent", "whether a CTA goes on to further tiles"});
  tile.overlaps_epilogue = object.defaulted<bool>(
      {"overlaps_epilogue", "whether a tile is stored under the next one's K loop"}, false);
  tile.split_k = object.defaulted<std::int64_t>(
      {"split_k", "most parts of K that this kernel runs in"}, 8, positive);
  tile.source =
      object.required_object({"source", "where the kernel was seen"}, config::detail::read_source);
  return tile;
}

constexpr Field behind_key{"behind", "what a product's launch takes behind another kernel"};

BehindAnother read_behind(StrictObject& object) {
  BehindAnother behind;
  behind.time = duration(object, {"time", "in place of the event before a product alone"});
  behind.time_peers = object.optional<Sourced<Duration>>(
      {"time_peers", "the same on ranks whose bytes go straight between devices"},
      at_least(Duration()));
  behind.kept = object.optional<Sourced<Duration>>(
      {"kept", "less, where the L2 has the weights still"}, at_least(Duration()));
  behind.waits = object.optional<Sourced<Duration>>(
      {"waits", "more, where the stream waits for an event between the two"}, at_least(Duration()));
  return behind;
}

OwnGemmConstants read_own(StrictObject& object) {
  OwnGemmConstants own;
  own.start = duration(object, {"start", "a launch measured alone"});
  own.epilogue_exposed = share(
      object, {"epilogue_exposed", "share of a tile's store that the next tile does not hide"}, 10);
  own.behind = object.optional_object(behind_key, read_behind);
  return own;
}

PowerAnswer read_answer(StrictObject& object) {
  PowerAnswer answer;
  answer.fresh_clock = efficiency(
      object, {"fresh_clock", "clock before the answer with the matrix units always busy"}, 1);
  answer.after = duration(object, {"after", "from a product's begin to the answer"});
  answer.low_clock = efficiency(
      object, {"low_clock", "clock during the answer with the matrix units always busy"}, 1);
  answer.lasts = duration(object, {"lasts", "how long the answer lasts"});
  answer.exponent = object.optional<Sourced<double>>(
      {"exponent", "how steeply these clocks fall as more units are busy"}, between(0.0, 10.0));
  return answer;
}

GemmConstants read_gemm(StrictObject& object) {
  GemmConstants gemm;
  gemm.start = duration(object, {"start", "a launch measured alone: first CTA in, last CTA out"});
  gemm.prologue = duration(object, {"prologue", "a tile's pipeline fill"});
  gemm.step = duration(object, {"step", "of a K step beside its matrix work"});
  gemm.matrix_efficiency = efficiency(
      object, {"matrix_efficiency", "of the peak, inside the K loop at full clock"}, 1.5);
  gemm.epilogue_exposed = share(
      object, {"epilogue_exposed", "share of a tile's store that the next tile does not hide"}, 10);
  gemm.hbm_efficiency = efficiency(object, {"hbm_efficiency", "of the memory's bandwidth"}, 1);
  gemm.l2_efficiency = efficiency(object, {"l2_efficiency", "of the L2's bandwidth"}, 2);
  gemm.sustained_clock = efficiency(
      object, {"sustained_clock", "clock with the matrix units always busy, over boost clock"}, 1);
  gemm.power_limited_clock =
      efficiency(object, {"power_limited_clock", "the same once the power limit sets it"}, 1);
  gemm.load_latency =
      duration(object, {"load_latency", "of an operand stage; stages in flight share it"});
  gemm.split_reduction =
      duration(object, {"split_reduction", "of joining parts of K, beside their bytes"});
  gemm.overhang_row = duration(
      object, {"overhang_row", "of a K step's load of one row of X beyond its edge, our kernels"});
  gemm.power_exponent =
      share(object, {"power_exponent", "how steeply the clock falls as more units are busy"}, 10);
  gemm.answer = object.optional_object(
      {"answer", "how the clock moves until the power controller has settled"}, read_answer);
  gemm.drain = object.optional<Sourced<double>>(
      {"drain", "share of the last tile's store that shows before the kernel ends"},
      between(0.0, 10.0));
  gemm.behind = object.optional_object(behind_key, read_behind);
  gemm.own = object.optional_object({"own", "what weft's own kernels have otherwise"}, read_own);
  gemm.corrections = read_corrections(object);
  gemm.measured = read_measured(object, "measured");
  gemm.measured_on_parts = read_measured(object, "measured_on_parts");
  gemm.tiles = object.required_list({"tiles", "kernels that the library can choose"}, read_tile,
                                    at_least(std::size_t{1}));
  return gemm;
}

AttentionConstants read_attention(StrictObject& object) {
  AttentionConstants attention;
  attention.head_dim =
      object.required<std::int64_t>({"head_dim", "of one head"}, at_least(std::int64_t{1}));
  attention.start = duration(object, {"start", "a launch measured alone"});
  attention.matrix_efficiency =
      efficiency(object, {"matrix_efficiency", "of the peak, over the pairs that count"}, 1.5);
  attention.tile_prologue =
      duration(object, {"tile_prologue", "of one tile of query rows, beside its pairs"});
  return attention;
}

MemoryConstants read_memory(StrictObject& object) {
  MemoryConstants memory;
  memory.start = duration(object, {"start", "a launch measured alone"});
  memory.hbm_efficiency = efficiency(object, {"hbm_efficiency", "of the memory's bandwidth"}, 1);
  memory.per_sm = rate(object, {"per_sm", "bytes that one SM moves, reads and writes together"});
  return memory;
}

ProtocolCosts read_protocol(StrictObject& object) {
  ProtocolCosts costs;
  costs.op = object.required<CollectiveOp>({"op", "the collective"});
  costs.algorithm = object.required<CollectiveAlgorithm>({"algorithm", "its algorithm"});
  costs.protocol = object.required<CollectiveProtocol>({"protocol", "how bytes are handed over"});
  costs.min_ranks = object.defaulted<std::int64_t>({"min_ranks", "fewest ranks of a node"}, 2,
                                                   at_least(std::int64_t{2}));
  costs.max_ranks = object.defaulted<std::int64_t>({"max_ranks", "most ranks of a node; 0: any"}, 0,
                                                   at_least(std::int64_t{0}));
  costs.base = duration(object, {"base", "launch, and joining of the ranks"});
  costs.hop = duration(object, {"hop", "of one step inside a node"});
  costs.slack = size(object, {"slack",
                              "bytes of a rank's shard, of all peers' together where they are "
                              "addressed at once, that move while channels are added"});
  costs.rate = rate(object, {"rate", "of the wire, one direction of one device"});
  costs.local_steps =
      share(object, {"local_steps", "local copies, in transfers of one shard over the wire"}, 100);
  costs.per_peer = object.optional<Sourced<Bandwidth>>(
      {"per_peer", "what the channels of one pair of ranks carry"}, above(Bandwidth{}));
  costs.shared = object.optional<Sourced<Bandwidth>>(
      {"shared", "what a host bridge carries for all ranks together"}, above(Bandwidth{}));
  costs.ctas = whole(object, {"ctas", "CTAs on each rank"});
  return costs;
}

NetworkCosts read_network(StrictObject& object) {
  NetworkCosts network;
  network.hop = duration(object, {"hop", "of one step that leaves the node"});
  network.efficiency = efficiency(object, {"efficiency", "of a NIC's rate, at large messages"}, 1);
  return network;
}

InterferenceTerm read_interference(StrictObject& object) {
  InterferenceTerm term;
  term.name = object.required<std::string>({"name", "the mechanism"});
  term.regime = object.required<std::string>({"regime", "when it acts"});
  term.slow_down =
      object.required<Sourced<double>>({"slow_down", "of the compute side"}, at_least(1.0));
  term.access =
      object.optional<InterferingAccess>({"access", "what the CTAs beside it do; set: simulated"});
  term.full_link = object.defaulted<bool>(
      {"full_link", "whether it acts while a full link holds the CTAs back, or while none does"},
      true);
  term.between_devices = object.defaulted<bool>(
      {"between_devices",
       "whether it is of traffic over links between devices, full or not, or over a host's link"},
      false);
  term.launch = object.optional<Sourced<Duration>>(
      {"launch", "what a launch takes longer beside them"}, at_least(Duration()));
  term.round_trip = object.optional<Sourced<Duration>>(
      {"round_trip", "what a round trip to host memory takes longer behind what they read"},
      at_least(Duration()));
  term.pace = object.optional<Sourced<Bandwidth>>(
      {"pace", "what all of them moved together where they were slowest"}, above(Bandwidth{}));
  term.points =
      object.optional_list({"points", "the slow-down by CTAs, ascending"}, [](StrictObject& inner) {
        InterferencePoint point;
        point.ctas =
            inner.required<std::int64_t>({"ctas", "CTAs that do it"}, at_least(std::int64_t{1}));
        point.slow_down =
            inner.required<Sourced<double>>({"slow_down", "of the compute side"}, at_least(1.0));
        return point;
      });
  return term;
}

FamilyError read_error(StrictObject& object) {
  const auto fraction = at_least(0.0);
  FamilyError error;
  error.family = object.required<std::string>({"family", "the predictions"});
  error.rows =
      object.required<std::int64_t>({"rows", "how many were compared"}, at_least(std::int64_t{0}));
  error.median = object.required<double>({"median", "of the error's size"}, fraction);
  error.p95 = object.required<double>({"p95", "95th percentile of the error's size"}, fraction);
  error.worst = object.required<double>({"worst", "largest error"}, fraction);
  error.bias = object.required<double>({"bias", "mean error with its sign"});
  error.low = object.defaulted<double>(
      {"low", "measured over predicted: 90 % of rows lie above this and below high"}, 1.0,
      above(0.0));
  error.high = object.defaulted<double>(
      {"high", "measured over predicted: 90 % of rows lie below this and above low"}, 1.0,
      above(0.0));
  error.ranks = object.optional<std::int64_t>(
      {"ranks", "most ranks of a row, where they communicate"}, at_least(std::int64_t{1}));
  error.operations =
      object.defaulted<std::vector<std::string>>({"operations", "what its rows are of"}, {});
  error.transports =
      object.defaulted<std::vector<std::string>>({"transports", "who moved the bytes"}, {});
  if (error.low > error.high)
    object.error("high", "is below \"low\"", "the lower end of the interval first");
  error.source = object.required_object({"source", "the rows"}, config::detail::read_source);
  return error;
}

Profile read_root(StrictObject& root) {
  Profile profile;
  profile.name = root.required<std::string>({"name", "the device, as plans name it"});
  profile.description = root.required<std::string>({"description", "what the constants are for"});
  profile.gpu = root.required_object({"gpu", "the device that the constants belong to"}, read_gpu);
  profile.control = root.required_object({"control", "costs of control paths"}, read_control);
  profile.copy_engines =
      root.optional_list({"copy_engines", "copy engines by path"}, read_copy_engine);
  profile.sm_copies = root.optional_list({"sm_copies", "copies by SMs, by path"}, read_sm_copy);
  profile.sums =
      root.optional_object({"sums", "sums by CTAs that share a product's launch"}, read_sums);
  profile.gemm = root.optional_object({"gemm", "constants of library GEMMs"}, read_gemm);
  profile.attention =
      root.optional_list({"attention", "constants by head dimension"}, read_attention);
  profile.memory =
      root.optional_object({"memory", "constants of memory-bound kernels"}, read_memory);
  profile.collectives =
      root.optional_list({"collectives", "constants of the collective library"}, read_protocol);
  profile.network = root.optional_object({"network", "steps between nodes"}, read_network);
  profile.interference = root.optional_list(
      {"interference", "slow-downs that sharing does not explain"}, read_interference);
  profile.errors = root.optional_list({"errors", "how far predictions were off"}, read_error);
  return profile;
}

constexpr std::string_view kSchema = "weft.profile/1";

}  // namespace

Profile read_profile(const config::Document& document) {
  StrictObject root(document);
  root.schema(kSchema, "what is known about one GPU and its fabric");
  Profile profile = read_root(root);
  root.finish();
  return profile;
}

Profile load_profile(const std::filesystem::path& file) {
  return read_profile(config::Document::load(file));
}

std::vector<config::SourcedUse> assumed_numbers(const config::Document& document) {
  StrictObject root(document);
  root.schema(kSchema, "what is known about one GPU and its fabric");
  (void)read_root(root);
  root.finish();
  std::vector<config::SourcedUse> assumed;
  for (const config::SourcedUse& use : root.sources()) {
    if (use.source_kind == "assumed") assumed.push_back(use);
  }
  return assumed;
}

config::TypeDescription describe_profile() {
  return config::describe([](StrictObject& root) {
    root.schema(kSchema, "what is known about one GPU and its fabric");
    return read_root(root);
  });
}

}  // namespace weft::model
