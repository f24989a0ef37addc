// SPDX-License-Identifier: Apache-2.0
// What is known about one GPU and its fabric: the constants of the cost models, each with unit and
// source, and how far the models built from them were off. A value; calibration/ fits it,
// models/cost prices with it.
//
// Fractions and step counts are plain numbers, everything else has a unit. A group that is not
// there is not known, and a cost that needs it says so by name (MissingConstant) instead of
// guessing.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/profile/source.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/dtype.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::model {

/// A cost was asked for whose constants the profile does not have.
class MissingConstant : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The dense matrix rate of one dtype at boost clock.
struct MatrixRate {
  DType dtype = DType::bf16;
  Sourced<FlopRate> peak;
  friend bool operator==(const MatrixRate&, const MatrixRate&) = default;
};

/// The device that the constants belong to.
struct GpuFigures {
  std::string architecture;  ///< "sm_90", "sm_100", "ascend-910", ...
  Sourced<std::int64_t> sms;
  std::optional<Sourced<std::vector<int>>>
      sms_per_gpc{};  ///< where clusters must fit; none: unknown
  std::vector<MatrixRate> matrix;
  Sourced<FlopRate> vector_fp32;
  Sourced<Bandwidth> hbm;
  Sourced<Bytes> hbm_size;
  Sourced<Bandwidth> l2;
  Sourced<Bytes> l2_size;
  Sourced<Bandwidth> link_per_direction;  ///< scale-up, one GPU, as fitted below
  friend bool operator==(const GpuFigures&, const GpuFigures&) = default;
};

/// Costs of control paths, from a cause to the moment a waiter sees it.
struct ControlCosts {
  Sourced<Duration> host_call;     ///< host time of one launch, copy, record or wait
  Sourced<Duration> graph_launch;  ///< host time of a whole graph
  Sourced<Duration> launch;        ///< from the head of a queue to the first CTA
  Sourced<Duration> kernel_drain;  ///< from the last CTA's end to what a successor sees
  Sourced<Duration> event_hop;     ///< record on one stream to the release of a wait on another
  Sourced<Duration> signal_same_sm;
  Sourced<Duration> signal_same_device;
  Sourced<Duration> signal_peer;
  Sourced<Duration> signal_host;
  Sourced<Duration> stream_write;   ///< a stream's write of a signal
  Sourced<Duration> stream_wait;    ///< from a signal to what follows a stream's wait for it
  Sourced<Duration> launch_jitter;  ///< ready times closer than this may go either way
  /// The same where the signal is there, from when the stream comes to it, if that is later.
  std::optional<Sourced<Duration>> stream_wait_there = {};
  /// The same wait on ranks whose bytes go straight between devices: flags come from where the host's link is idle.
  std::optional<Sourced<Duration>> stream_wait_peers = {};
  /// How often a stream that waits looks again for a signal that it did not find.
  std::optional<Sourced<Duration>> stream_poll = {};
  /// The same write behind a copy that came from a peer: it waits until that is seen.
  std::optional<Sourced<Duration>> stream_write_peers = {};
  /// What a tile takes behind its store for each chunk that its rows lie in: it is counted, for the whole system.
  std::optional<Sourced<Duration>> tile_flag = {};
  /// What a slot of such a tile takes that a store warp sends to whom its rows are of.
  std::optional<Sourced<Duration>> store_slot = {};
  friend bool operator==(const ControlCosts&, const ControlCosts&) = default;
};

/// Which way bytes go, as the device that moves them sees it.
enum class CopyPath : std::uint8_t { from_host, to_host, same_device, to_peer, from_peer };

inline constexpr CopyPath every_copy_path[] = {CopyPath::from_host, CopyPath::to_host,
                                               CopyPath::same_device, CopyPath::to_peer,
                                               CopyPath::from_peer};
[[nodiscard]] std::string_view name_of(CopyPath path);

/// One copy engine on one path: start + bytes / rate, and its rate while the other direction runs.
struct CopyEngineCosts {
  CopyPath path = CopyPath::from_host;
  Sourced<Duration> start;
  Sourced<Bandwidth> rate;
  Sourced<Bandwidth> duplex_rate;
  std::optional<Sourced<Bandwidth>> paired_rate{};  ///< of each of two copies the same way at once
  friend bool operator==(const CopyEngineCosts&, const CopyEngineCosts&) = default;
};

/// Copies by SMs on one path: start + bytes / min(ctas * per_cta, cap) of payload.
struct SmCopyCosts {
  CopyPath path = CopyPath::from_host;
  Sourced<Bandwidth> per_cta;
  Sourced<Bandwidth> cap;
  Sourced<std::int64_t> threads;  ///< of a CTA
  /// Of a piece: from its first load to the flow, and from the last byte to what waits for it.
  std::optional<Sourced<Duration>> start = {};
  /// The same while others move as much the other way: a piece's first loads queue behind their stores.
  std::optional<Sourced<Duration>> duplex_start = {};
  /// What all CTAs reach while others move as much the other way: reads queue behind writes.
  std::optional<Sourced<Bandwidth>> duplex_cap = {};
  /// Of one CTA that shares a product's launch, and so has that kernel's threads and registers.
  std::optional<Sourced<Bandwidth>> launch_per_cta = {};
  /// The same where what arrives is added to what is there: payload of the sum.
  std::optional<Sourced<Bandwidth>> sum_per_cta = {}, sum_cap = {};
  friend bool operator==(const SmCopyCosts&, const SmCopyCosts&) = default;
};

/// Sums of partials by CTAs that share a product's launch: a piece takes start + bytes / min(ctas * per_cta, cap), of
/// bytes read and written.
struct SumCosts {
  Sourced<Duration> start;
  /// Of the last piece, once: from its last tile to its first sum, stores on their way and first loads.
  Sourced<Duration> tail;
  Sourced<Bandwidth> per_cta;
  Sourced<Bandwidth> cap;
  friend bool operator==(const SumCosts&, const SumCosts&) = default;
};

/// A GEMM kernel that can be chosen: its tile, and what one CTA of it holds.
struct GemmTile {
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0, stages = 0;
  std::int64_t cluster_m = 1, cluster_n = 1;
  std::int64_t threads = 0, registers_per_thread = 0;
  Bytes shared_memory;
  bool persistent = true;
  /// Consumers take turns at tiles of their own, so that a tile is stored under the next one's K loop.
  bool overlaps_epilogue = false;
  std::int64_t split_k = 1;  ///< most parts of K that this kernel was seen to run in
  Source source;
  friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

/// The kernel libraries of products: the vendor's, and kernels/sm90.
enum class GemmLibrary : std::uint8_t { cublaslt, ours };
[[nodiscard]] std::string_view name_of(GemmLibrary library);

/// What one kernel has otherwise than its extents say.
struct KernelCorrection {
  GemmLibrary library = GemmLibrary::cublaslt;
  std::int64_t tile_m = 0, tile_n = 0, cluster_m = 1, cluster_n = 1, split_k = 1;
  std::int64_t products = 0;  ///< that it was fitted to
  double step = 1;            ///< factor of the multiplications of a K step
  double traffic = 1;         ///< factor of its loads
  Duration turn;              ///< from one tile to the next, in place of the prologue
  Duration start;             ///< in place of the library's
  Source source;
  friend bool operator==(const KernelCorrection&, const KernelCorrection&) = default;
};

/// One product as it was measured, and the kernel that ran.
struct MeasuredProduct {
  std::int64_t m = 0;
  Duration time;
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 64, stages = 1, cluster_m = 1, cluster_n = 1;
  std::int64_t split_k = 1;
  friend bool operator==(const MeasuredProduct&, const MeasuredProduct&) = default;
};

/// A grid of rows of one N, K and SM count, by rising m: it overrides the model between its rows.
struct MeasuredProducts {
  GemmLibrary library = GemmLibrary::cublaslt;
  std::int64_t n = 0, k = 0, sms = 0;
  std::vector<MeasuredProduct> rows;
  Source source;
  friend bool operator==(const MeasuredProducts&, const MeasuredProducts&) = default;
};

/// What a product's launch takes behind another kernel of its stream, in place of the event that a product alone has
/// before it: from the end of the one before it until its operands are asked for, beyond a launch and a drain.
struct BehindAnother {
  Sourced<Duration> time;
  std::optional<Sourced<Duration>> time_peers = {};  ///< on ranks whose bytes go between devices
  std::optional<Sourced<Duration>> kept =
      {};  ///< less, where the L2 still has W: it fills the stages at once
  std::optional<Sourced<Duration>> waits =
      {};  ///< more, where its stream waits for an event between the two
  friend bool operator==(const BehindAnother&, const BehindAnother&) = default;
};

/// What our own kernels have otherwise than the library's.
struct OwnGemmConstants {
  Sourced<Duration> start;
  Sourced<double> epilogue_exposed;
  std::optional<BehindAnother> behind = {};
  friend bool operator==(const OwnGemmConstants&, const OwnGemmConstants&) = default;
};

/// How the clock of a device that begins to multiply moves until it has settled: its power controller answers late, and
/// by more than it has to. Clocks are with the matrix units always busy, over boost clock.
struct PowerAnswer {
  Sourced<double> fresh_clock;  ///< before the answer
  Sourced<Duration> after;      ///< from the product's begin to the answer
  Sourced<double> low_clock;    ///< while it lasts
  Sourced<Duration> lasts;
  /// How steeply these two fall as more units are busy; none: as the settled clock does.
  std::optional<Sourced<double>> exponent = {};
  friend bool operator==(const PowerAnswer&, const PowerAnswer&) = default;
};

/// GEMM: equation and meaning in models/cost/gemm.hpp.
struct GemmConstants {
  Sourced<Duration> start;            ///< a launch measured alone: first CTA in, last CTA out
  Sourced<Duration> prologue;         ///< a tile's pipeline fill
  Sourced<Duration> step;             ///< of a K step beside its matrix work: barriers, issue
  Sourced<double> matrix_efficiency;  ///< of the peak, at full clock, inside the K loop
  Sourced<double>
      epilogue_exposed;  ///< share of a tile's output store that the next tile does not hide
  Sourced<Duration> load_latency;     ///< of an operand stage; the stages in flight share it
  Sourced<Duration> split_reduction;  ///< of joining parts of K, beside their bytes
  Sourced<Duration> overhang_row;     ///< of loading one row beyond the edge, a K step
  Sourced<double> hbm_efficiency;
  Sourced<double> l2_efficiency;
  Sourced<double> sustained_clock;  ///< clock with the matrix units always busy, over boost clock
  Sourced<double> power_exponent;   ///< how steeply the clock falls as more units are busy
  /// The same once work has run for so long that the power limit sets it.
  Sourced<double> power_limited_clock;
  std::optional<PowerAnswer> answer;  ///< none: the clock is the sustained one at once
  /// Share of the last tile's output store, at an SM's part of the HBM, that shows before the kernel ends.
  std::optional<Sourced<double>> drain;
  std::optional<BehindAnother> behind;  ///< of the library's kernels; none: nothing
  std::optional<OwnGemmConstants> own;
  std::vector<KernelCorrection> corrections;
  std::vector<MeasuredProducts> measured;
  /// The same on a part of the device while its other SMs are idle: libraries choose other kernels there.
  std::vector<MeasuredProducts> measured_on_parts = {};
  std::vector<GemmTile> tiles;  ///< the library's; our own come from kernels/shapes
  friend bool operator==(const GemmConstants&, const GemmConstants&) = default;
};

/// Attention and memory-bound kernels: equations in models/cost/roofline.hpp.
struct AttentionConstants {
  std::int64_t head_dim = 128;
  Sourced<Duration> start;
  Sourced<double> matrix_efficiency;
  Sourced<Duration> tile_prologue;  ///< of one tile of query rows
  friend bool operator==(const AttentionConstants&, const AttentionConstants&) = default;
};
struct MemoryConstants {
  Sourced<Duration> start;
  Sourced<double> hbm_efficiency;
  Sourced<Bandwidth> per_sm;  ///< what one SM can pull
  friend bool operator==(const MemoryConstants&, const MemoryConstants&) = default;
};

enum class CollectiveAlgorithm : std::uint8_t { ring, tree, direct, nvls, hierarchical, collnet };
/// How a library moves bytes: flags in every 8 or 128 bytes, or chunks that are posted whole; `simple_full`
/// is `simple` once a message is long enough for chunks of full size, which cost more to fill and less each.
enum class CollectiveProtocol : std::uint8_t { ll, ll128, simple, simple_full };

inline constexpr CollectiveAlgorithm every_collective_algorithm[] = {
    CollectiveAlgorithm::ring, CollectiveAlgorithm::tree,         CollectiveAlgorithm::direct,
    CollectiveAlgorithm::nvls, CollectiveAlgorithm::hierarchical, CollectiveAlgorithm::collnet};
inline constexpr CollectiveProtocol every_collective_protocol[] = {
    CollectiveProtocol::ll, CollectiveProtocol::ll128, CollectiveProtocol::simple,
    CollectiveProtocol::simple_full};
[[nodiscard]] std::string_view name_of(CollectiveAlgorithm algorithm);
[[nodiscard]] std::string_view name_of(CollectiveProtocol protocol);

/// One protocol of one algorithm of the collective library: models/cost/collective.hpp has the equation.
struct ProtocolCosts {
  CollectiveOp op = CollectiveOp::all_reduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  std::int64_t min_ranks = 2;  ///< of one node, for which these constants hold
  std::int64_t max_ranks = 0;  ///< 0: no limit
  Sourced<Duration> base;      ///< launch, and joining of the ranks
  Sourced<Duration> hop;       ///< of one step inside a node
  Sourced<Bytes> slack;  ///< of a shard, all-to-all: of the message; moved while channels are added
  Sourced<Bandwidth> rate;      ///< of the wire, one direction of one GPU
  Sourced<double> local_steps;  ///< local copies, in transfers of one shard over the wire
  std::optional<Sourced<Bandwidth>>
      per_peer;  ///< direct: what the channels of one pair of ranks carry
  std::optional<Sourced<Bandwidth>> shared;  ///< what a host bridge carries for all ranks together
  Sourced<std::int64_t> ctas;
  friend bool operator==(const ProtocolCosts&, const ProtocolCosts&) = default;
};

/// What a step costs that leaves the node, beside the NIC's own rate.
struct NetworkCosts {
  Sourced<Duration> hop;
  Sourced<double> efficiency;  ///< of a NIC's rate, at large messages
  friend bool operator==(const NetworkCosts&, const NetworkCosts&) = default;
};

/// What CTAs beside a GEMM do that slows it, or copies by engine, which points count in place of CTAs.
enum class InterferingAccess : std::uint8_t { posted_write, read, engine_copy };

/// Slow-down of the compute side by so many CTAs.
struct InterferencePoint {
  std::int64_t ctas = 0;
  Sourced<double> slow_down;  ///< >= 1
  friend bool operator==(const InterferencePoint&, const InterferencePoint&) = default;
};

/// Slow-down of a resident GEMM that sharing does not explain, in one regime.
struct InterferenceTerm {
  std::string name;           ///< the mechanism: "posted-writes-behind-full-link", ...
  std::string regime;         ///< when it acts, in words
  Sourced<double> slow_down;  ///< of the compute side, >= 1; at its largest where there are points
  /// Set: the engine runs it, while CTAs of this access are held back by a full link, or else while they are not.
  std::optional<InterferingAccess> access;
  bool full_link = true;
  /// Of traffic between devices, over links of their own, whether these are full or not; else of a host's link.
  bool between_devices = false;
  std::vector<InterferencePoint>
      points;  ///< ascending in CTAs; linear between them, from 1 at none
  /// What a launch takes longer, since it waits for what the CTAs have in flight.
  std::optional<Sourced<Duration>> launch = {};
  /// What a round trip to host memory takes longer behind what is read from there.
  std::optional<Sourced<Duration>> round_trip = {};
  /// What all of its CTAs moved together where they were slowest; none: they were not held to a pace.
  std::optional<Sourced<Bandwidth>> pace = {};
  friend bool operator==(const InterferenceTerm&, const InterferenceTerm&) = default;
};

/// How far a family of predictions was off, on rows that its fit did not see.
struct FamilyError {
  std::string family;  ///< "nccl >= 1 MB", "gemm bf16", ...
  std::int64_t rows = 0;
  double median = 0, p95 = 0, worst = 0, bias = 0;  ///< fractions of the measured time
  /// Measured over predicted: 90 % of rows of new shapes lie between; both 1: not known, p95 is.
  double low = 1, high = 1;
  std::optional<std::int64_t> ranks;  ///< most ranks of a row, where they communicate
  /// What its rows are of: operations ("ag_gemm", "all_gather") and who moved bytes ("sm"); empty: not said.
  std::vector<std::string> operations{}, transports{};
  Source source;
  friend bool operator==(const FamilyError&, const FamilyError&) = default;
};

struct Profile {
  std::string name;
  std::string description;
  GpuFigures gpu;
  ControlCosts control;
  std::vector<CopyEngineCosts> copy_engines;
  std::vector<SmCopyCosts> sm_copies;
  std::optional<SumCosts> sums = {};
  std::optional<GemmConstants> gemm;
  std::vector<AttentionConstants> attention;
  std::optional<MemoryConstants> memory;
  std::vector<ProtocolCosts> collectives;
  std::optional<NetworkCosts> network;
  std::vector<InterferenceTerm> interference;
  std::vector<FamilyError> errors;
  friend bool operator==(const Profile&, const Profile&) = default;

  /// The matrix rate of a dtype; throws MissingConstant with the dtypes that are known.
  [[nodiscard]] const Sourced<FlopRate>& matrix_rate(DType dtype) const;
  [[nodiscard]] const CopyEngineCosts& copy_engine(CopyPath path) const;
  [[nodiscard]] const SmCopyCosts& sm_copy(CopyPath path) const;
  [[nodiscard]] const AttentionConstants& attention_of(std::int64_t head_dim) const;
  [[nodiscard]] const FamilyError* error_of(std::string_view family) const;
};

}  // namespace weft::model
