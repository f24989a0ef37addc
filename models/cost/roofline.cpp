// SPDX-License-Identifier: Apache-2.0
#include "models/cost/roofline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace weft::model {

namespace {

constexpr std::int64_t kQueryRows =
    128;  ///< of one attention tile: FlashAttention-2/3's block of queries
constexpr Bytes kMemoryTile =
    Bytes::from(std::int64_t{64} << 10);  ///< that one CTA of a streaming kernel takes

const MemoryConstants& memory_of(const Profile& profile) {
  if (profile.memory) return *profile.memory;
  throw MissingConstant(
      fmt::format("profile \"{}\" has no constants of memory-bound kernels", profile.name));
}

/// rate * share, rounded down to a byte a second; at least one.
Bandwidth part(Bandwidth rate, double share) {
  return Bandwidth::from_bytes_per_second(std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(rate.bytes_per_second()) * share)));
}

/// What streaming kernels get from memory when so many SMs pull.
Bandwidth stream_rate(const Profile& profile, std::int64_t sms) {
  const MemoryConstants& memory = memory_of(profile);
  return std::min(part(profile.gpu.hbm.value, memory.hbm_efficiency.value),
                  memory.per_sm.value * sms);
}

void check(const SmBudget& budget) {
  if (budget.sms() < 1) throw std::domain_error("a kernel needs at least one SM");
}

}  // namespace

KernelCost memory_cost(const Profile& profile, Bytes bytes, const SmBudget& budget) {
  check(budget);
  const MemoryConstants& memory = memory_of(profile);
  KernelCost cost;
  cost.footprint = {.threads = 512, .registers = 512 * 32, .shared_memory = Bytes{}};
  cost.ctas_per_sm = 2;
  cost.start = memory.start.value;
  cost.hbm_bytes = bytes;
  cost.tiles = std::max<std::int64_t>(1, divide_up(bytes.count(), kMemoryTile.count()));
  const std::int64_t sms = std::min(budget.sms(), cost.tiles);
  cost.waves = waves_of(cost.tiles, budget.sms());
  cost.hbm_per_tile = bytes / cost.tiles;
  cost.time = cost.start + bytes / stream_rate(profile, sms);
  cost.tile_time = cost.hbm_per_tile / memory.per_sm.value;
  cost.source = weaker(memory.start.source.kind, memory.hbm_efficiency.source.kind);
  return cost;
}

KernelCost norm_cost(const Profile& profile, std::int64_t rows, std::int64_t width, DType dtype,
                     bool residual, const SmBudget& budget) {
  // Read and written once; a residual is read, added and written back beside it.
  const Bytes tensor = bytes_of(dtype, rows * width);
  KernelCost cost = memory_cost(profile, tensor * (residual ? 4 : 2), budget);
  cost.flops = Flops::from(rows * width * (residual ? 5 : 4));
  return cost;
}

KernelCost elementwise_cost(const Profile& profile, std::int64_t elements, int inputs, int outputs,
                            DType dtype, const SmBudget& budget) {
  KernelCost cost = memory_cost(profile, bytes_of(dtype, elements) * (inputs + outputs), budget);
  cost.flops = Flops::from(elements * inputs);
  return cost;
}

KernelCost embedding_cost(const Profile& profile, std::int64_t rows, std::int64_t width,
                          DType dtype, const SmBudget& budget) {
  return memory_cost(profile, bytes_of(dtype, rows * width) * 2, budget);
}

std::int64_t attention_pairs(const AttentionProblem& problem) {
  const std::int64_t queries = problem.query_tokens, keys = problem.key_tokens;
  const std::int64_t window = problem.window.value_or(keys);
  if (!problem.causal) return checked_multiply(queries, std::min(keys, window));
  // Query i of the call sits at key position keys - queries + i and sees the keys up to itself.
  const std::int64_t before = keys - queries;
  const std::int64_t growing = std::clamp(window - before, std::int64_t{0}, queries);
  const std::int64_t full = queries - growing;
  return narrow(Int128{growing} * before + Int128{growing} * (growing + 1) / 2 +
                Int128{full} * std::min(window, keys));
}

Flops attention_flops(const AttentionProblem& problem) {
  const std::int64_t heads = checked_multiply(problem.batch, problem.heads);
  const std::int64_t a_pair = (problem.backward ? 10 : 4) * problem.head_dim;
  return Flops::from(attention_pairs(problem)) * heads * a_pair;
}

KernelCost attention_cost(const Profile& profile, const AttentionProblem& problem,
                          const SmBudget& budget) {
  check(budget);
  if (problem.batch < 1 || problem.query_tokens < 1 || problem.key_tokens < problem.query_tokens ||
      problem.heads < 1 || problem.kv_heads < 1 || problem.head_dim < 1) {
    throw std::domain_error(fmt::format(
        "attention of {} queries over {} keys with {} heads, {} KV heads of {} cannot be",
        problem.query_tokens, problem.key_tokens, problem.heads, problem.kv_heads,
        problem.head_dim));
  }
  const AttentionConstants& constants = profile.attention_of(problem.head_dim);
  KernelCost cost;
  cost.start = constants.start.value;
  cost.flops = attention_flops(problem);
  cost.source = weaker(constants.start.source.kind, constants.matrix_efficiency.source.kind);
  if (problem.dtype != DType::bf16 && problem.dtype != DType::fp16) {
    cost.source = SourceKind::assumed;
  }

  const std::int64_t d = problem.head_dim;
  const Bytes queries =
      bytes_of(problem.dtype, problem.batch * problem.query_tokens * problem.heads * d);
  const Bytes keys =
      bytes_of(problem.dtype, problem.batch * problem.key_tokens * problem.kv_heads * d);
  // Forward reads Q, K, V and writes the output; backward also reads it and its gradient, and writes three.
  cost.hbm_bytes = problem.backward ? queries * 4 + keys * 4 : queries * 2 + keys * 2;

  // Query heads that share KV heads share a tile when there are fewer query rows than it has.
  const std::int64_t group = std::max<std::int64_t>(1, problem.heads / problem.kv_heads);
  const std::int64_t rows_of_head = problem.query_tokens;
  const bool decode = rows_of_head * group <= kQueryRows;
  const std::int64_t row_tiles = decode ? 1 : divide_up(rows_of_head, kQueryRows);
  const std::int64_t columns = problem.batch * (decode ? problem.kv_heads : problem.heads);
  // A cache is split over the SMs that would otherwise idle (split-KV), down to one tile of keys each.
  const std::int64_t split =
      decode ? std::clamp<std::int64_t>(budget.sms() / columns, 1,
                                        divide_up(problem.key_tokens, kQueryRows))
             : 1;
  cost.tiles = row_tiles * columns * split;
  cost.footprint = {
      .threads = 384, .registers = 384 * 168, .shared_memory = Bytes::from(200 << 10)};
  cost.waves = waves_of(cost.tiles, budget.sms());
  cost.hbm_per_tile = cost.hbm_bytes / cost.tiles;

  const double rate =
      static_cast<double>(profile.matrix_rate(problem.dtype).value.flops_per_second()) /
      static_cast<double>(profile.gpu.sms.value) * constants.matrix_efficiency.value;
  // Matrix units take whole blocks: query rows are padded to a tile, and a causal tile computes the block of
  // keys on its diagonal in full.
  const std::int64_t used_rows = decode ? rows_of_head * group : rows_of_head;
  const double padding =
      static_cast<double>(row_tiles * kQueryRows) / static_cast<double>(used_rows);
  const double pairs = static_cast<double>(attention_pairs(problem));
  const double diagonal =
      problem.causal && !decode ? static_cast<double>(problem.query_tokens) * kQueryRows / 2 : 0;
  const double tile_seconds = static_cast<double>(cost.flops.count()) /
                              static_cast<double>(cost.tiles) * padding * (1 + diagonal / pairs) /
                              rate;
  const double tile_ps = std::ceil(tile_seconds * 1e12 - 1e-3);
  if (!(tile_ps < 9e18)) throw std::overflow_error("attention that takes more than 104 days");
  const Duration tile_work = Duration::from_ps(static_cast<std::int64_t>(tile_ps));
  cost.tile_time = constants.tile_prologue.value + tile_work;
  // Tiles of equal length go in waves. Causal ones differ, up to twice the mean, and are handed out in the
  // order of their rows: SMs stop at any point of a longest tile, so the last does half of one after the mean.
  Duration busy = cost.tile_time * cost.waves;
  if (problem.causal && !decode && row_tiles > 1) {
    const Duration longest = cost.tile_time * 2 - constants.tile_prologue.value;
    const Duration together = cost.tile_time * cost.tiles / budget.sms();
    busy = std::max(longest, together + longest / 2);
  }
  const std::int64_t streaming = std::min(budget.sms(), cost.tiles);
  cost.time = cost.start + std::max(busy, cost.hbm_bytes / stream_rate(profile, streaming));
  return cost;
}

}  // namespace weft::model
