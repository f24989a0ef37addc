// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <stdexcept>

#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"
#include "kernels/shapes/choose.hpp"
#include "kernels/sm90/plan.cuh"

namespace weft::kernels {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    WEFT_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                               cudaEnableDefault, &result));
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

int device_sms() {
  int device = 0;
  int sms = 0;
  WEFT_CUDA(cudaGetDevice(&device));
  WEFT_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

std::int64_t stride_or(std::int64_t stride, int columns) {
  return stride == 0 ? columns : stride;
}

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

cudaLaunchConfig_t config_of(const Plan::State& state, cudaLaunchAttribute& cluster,
                             cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(state.grid));
  config.blockDim = dim3(static_cast<unsigned>(state.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(state.shared_bytes);
  config.stream = stream;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(state.cluster);
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

/// Returns how many clusters of the kernel the device holds at once: large ones do not fill every
/// GPC.
int resident_clusters(Plan::State& state) {
  if (state.cluster == 1) return std::numeric_limits<int>::max();
  state.grid = state.cluster;
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = config_of(state, cluster, nullptr);
  int clusters = 0;
  WEFT_CUDA(cudaOccupancyMaxActiveClusters(&clusters, state.kernel, &config));
  return clusters;
}

/// Allocates where the parts of each of `tiles` clusters' tiles leave their sums; flags are zero at first.
PartialSums partial_sums(const shapes::Tile& tile, int tiles, Plan::State& state) {
  if (tile.spread_k == 1) return {};
  const auto count = static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tile.cluster()) *
                     static_cast<std::size_t>((tile.spread_k - 1) * tile.warpgroups);
  const std::size_t bytes = count * sizeof(float) * static_cast<std::size_t>(tile.warpgroup_m) *
                            static_cast<std::size_t>(tile.warpgroup_n);
  void* memory = keep_memory(bytes + count * sizeof(Signal), state);
  auto* flags = reinterpret_cast<Signal*>(static_cast<std::byte*>(memory) + bytes);
  WEFT_CUDA(cudaMemset(flags, 0, count * sizeof(Signal)));
  WEFT_CUDA(cudaStreamSynchronize(nullptr));
  return {static_cast<float*>(memory), flags};
}

}  // namespace

void Complaints::done() const {
  if (!text_.empty()) throw std::invalid_argument(kernel_ + ":" + text_);
}

void check_product(const Product& p, const Options& options, int communication_ctas,
                   Complaints& complaints) {
  complaints.require(p.m >= 1, "m must be at least 1, not " + std::to_string(p.m));
  complaints.require(p.n >= 8 && p.n % 8 == 0,
                     "n must be a positive multiple of 8, not " + std::to_string(p.n));
  complaints.require(p.k >= 8 && p.k % 8 == 0,
                     "k must be a positive multiple of 8, not " + std::to_string(p.k));
  complaints.require(p.x != nullptr && aligned(p.x), "x must be set and aligned to 16 bytes");
  complaints.require(p.w != nullptr && aligned(p.w), "w must be set and aligned to 16 bytes");
  for (const auto& [stride, name] : {std::pair{p.x_stride, "x"}, std::pair{p.w_stride, "w"}})
    complaints.require(stride == 0 || (stride >= p.k && stride % 8 == 0),
                       std::string("the stride of ") + name +
                           " must be a multiple of 8 of at least k, not " + std::to_string(stride));
  complaints.require(options.tile >= -1 && options.tile < static_cast<int>(shapes::tiles.size()),
                     "tile must be -1 or an index below " + std::to_string(shapes::tiles.size()) +
                         ", not " + std::to_string(options.tile));
  complaints.require(options.sms >= 0 && options.margin >= 0,
                     "sms and margin must not be negative");
  complaints.require(communication_ctas >= 0, "communication CTAs must not be negative");
  complaints.require(options.group_rows >= 0, "group_rows must not be negative");
  complaints.require(options.wait_budget_ns > 0, "the wait budget must be positive");
}

void check_matrix(const Matrix& matrix, int columns, const std::string& what,
                  Complaints& complaints) {
  complaints.require(matrix.data != nullptr && aligned(matrix.data),
                     what + " must be set and aligned to 16 bytes");
  complaints.require(matrix.stride == 0 || (matrix.stride >= columns && matrix.stride % 8 == 0),
                     "the stride of " + what + " must be a multiple of 8 of at least " +
                         std::to_string(columns) + ", not " + std::to_string(matrix.stride));
}

void check_group(int rank, int ranks, int chunks_per_shard, Complaints& complaints) {
  complaints.require(
      ranks >= 1 && ranks <= max_ranks,
      "ranks must lie in 1.." + std::to_string(max_ranks) + ", not " + std::to_string(ranks));
  complaints.require(rank >= 0 && rank < ranks,
                     "rank must be one of the ranks, not " + std::to_string(rank));
  complaints.require(chunks_per_shard >= 1 && chunks_per_shard * ranks <= max_chunks,
                     "chunks of all shards must lie in 1.." + std::to_string(max_chunks) +
                         ", not " + std::to_string(chunks_per_shard) + " a shard");
  complaints.done();
}

Vectors vectors_of(const Matrix& matrix, int columns) {
  return {static_cast<uint4*>(matrix.data), stride_or(matrix.stride, columns) / 8};
}

CUtensorMap tensor_map(const void* data, int rows, int columns, std::int64_t stride, int box_rows,
                       int box_columns) {
  const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(stride_or(stride, columns)) * 2};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(box_columns),
                             static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  CUtensorMap map;
  WEFT_DRIVER(encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data),
                             extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             box_columns == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                             : box_columns == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : box_columns == 16 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                 : CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

CUtensorMap slot_map(const Matrix& matrix, int rows, int columns, const shapes::Tile& tile) {
  return tensor_map(matrix.data, rows, columns, matrix.stride, 64, tile.slot_columns);
}

Coordination coordination_of(const Options& options, const Workspace& workspace) {
  Coordination c{};
  c.control = workspace.device().control;
  c.record = workspace.device().record;
  c.rank = workspace.rank();
  c.budget_ns = options.wait_budget_ns;
  if (options.pace.bytes_per_second > 0)
    c.pace_per_mib = static_cast<std::uint64_t>(4.0e9 * (1 << 20) /
                                                static_cast<double>(options.pace.bytes_per_second));
  c.bytes_in_flight = options.pace.bytes_in_flight_per_cta;
  c.hold_point = options.hold.point;
  c.hold_chunk = options.hold.chunk;
  c.hold_ns = options.hold.delay_ns;
  c.advance_phase = options.advance_phase;
  c.flag_before_data = options.flag_before_data;
  return c;
}

CoreParams core_params(const Product& p, const Options& options, const Workspace& workspace,
                       int communication_ctas, int first_row, Plan::State& state,
                       const void* (*kernel_of_tile)(int), const shapes::Ownership* owners) {
  const int sms = options.sms > 0 ? options.sms : device_sms();
  const int computing = std::max(1, sms - options.margin - communication_ctas);
  state.tile = options.tile >= 0 ? options.tile : shapes::choose_tile(p.m, p.n, p.k, computing);
  const shapes::Tile& tile = shapes::tiles[static_cast<std::size_t>(state.tile)];
  if (communication_ctas % tile.cluster() != 0)
    throw std::invalid_argument(
        std::string(state.name) + ": communication CTAs (" + std::to_string(communication_ctas) +
        ") must be a multiple of the cluster of tile " + std::string(tile.name));
  state.kernel = kernel_of_tile(state.tile);
  state.cluster = tile.cluster();
  state.threads = tile.threads();
  state.shared_bytes = tile.shared_bytes();

  CoreParams core{};
  core.x = tensor_map(p.x, p.m, p.k, p.x_stride, tile.m() / tile.cluster_n, shapes::Tile::k());
  core.w = tensor_map(p.w, p.n, p.k, p.w_stride, tile.n() / tile.cluster_m, shapes::Tile::k());
  core.m = p.m;
  core.n = p.n;
  core.k_blocks = shapes::ceil_div(p.k, shapes::Tile::k());
  core.communication_ctas = communication_ctas;
  TileOrder& order = core.order;
  const int cluster_rows = tile.m() * tile.cluster_m;
  order.columns = shapes::ceil_div(p.n, tile.n() * tile.cluster_n);
  if (owners != nullptr) {
    order.owner_rows = owners->shard_rows();
    order.owner_tiles = shapes::ceil_div(order.owner_rows, cluster_rows);
    order.rows = owners->ranks * order.owner_tiles;
    order.first = first_row / order.owner_rows % owners->ranks * order.owner_tiles;
  } else {
    order.rows = shapes::ceil_div(p.m, cluster_rows);
    order.first = std::clamp(first_row / cluster_rows, 0, order.rows - 1);
  }
  order.group =
      std::clamp((options.group_rows == 0 ? shapes::group_rows : options.group_rows) / cluster_rows,
                 1, order.rows);
  order.counter = options.scheduler == Scheduler::counter;
  order.owners = order.owner_groups = 1;
  WEFT_CUDA(cudaFuncSetAttribute(state.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 state.shared_bytes));
  const int resident = std::min(computing / tile.cluster(), resident_clusters(state));
  order.parts = tile.spread_k;
  order.clusters = std::clamp(resident, 1, order.rows * order.columns * order.parts);
  // With fixed shares parts wait for clusters before them in the same round only.
  if (order.clusters > order.parts) order.clusters -= order.clusters % order.parts;
  state.grid = communication_ctas + order.clusters * tile.cluster();
  core.coordination = coordination_of(options, workspace);
  core.partials = partial_sums(tile, order.rows * order.columns, state);
  return core;
}

void* keep_memory(std::size_t bytes, Plan::State& state) {
  void* memory = nullptr;
  WEFT_CUDA(cudaMalloc(&memory, bytes));
  state.memory.emplace_back(memory, [](void* pointer) { cudaFree(pointer); });
  return memory;
}

Plan::Plan(std::shared_ptr<const State> state) : state_(std::move(state)) {}

void Plan::launch(Stream stream, Signal sequence) const {
  alignas(128) std::array<std::byte, parameter_limit> parameters = state_->parameters;
  std::memcpy(parameters.data() + state_->sequence_at, &sequence, sizeof sequence);
  void* arguments[] = {parameters.data()};
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = config_of(*state_, cluster, stream);
  WEFT_CUDA(cudaLaunchKernelExC(&config, state_->kernel, arguments));
}

int Plan::tile() const {
  return state_->tile;
}
int Plan::grid() const {
  return state_->grid;
}
std::string_view Plan::name() const {
  return state_->name;
}

}  // namespace weft::kernels
