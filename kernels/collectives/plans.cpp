// SPDX-License-Identifier: Apache-2.0
// The collectives as lists of pieces. Every rank receives each element that it needs exactly once and
// each partial enters its reduction exactly once; a test proves both on these lists.
#include <algorithm>
#include <stdexcept>

#include "kernels/collectives/transfer.hpp"

namespace weft::kernels {
namespace {

constexpr std::int64_t kGranule = 16;

void check_group(int ranks, int rank, std::int64_t bytes, int chunks) {
  if (ranks < 1 || ranks > TransferLaunch::kMaxBases || rank < 0 || rank >= ranks)
    throw std::invalid_argument("rank outside its group, or a group of more than 16 ranks");
  if (bytes < 0 || bytes % kGranule != 0)
    throw std::invalid_argument("a collective moves multiples of 16 bytes");
  if (chunks < 1) throw std::invalid_argument("a collective has at least one chunk");
}

}  // namespace

std::vector<ByteRange> split_bytes(std::int64_t total, int parts, std::int64_t granule) {
  std::vector<ByteRange> ranges;
  const std::int64_t units = (total + granule - 1) / granule;
  const std::int64_t each = (units + parts - 1) / parts * granule;
  for (std::int64_t offset = 0; offset < total; offset += each)
    ranges.push_back({offset, std::min(each, total - offset)});
  return ranges;
}

CollectivePlan plan_all_gather(int ranks, int rank, std::int64_t shard_bytes, int chunks) {
  check_group(ranks, rank, shard_bytes, chunks);
  CollectivePlan plan;
  std::uint32_t signal = 0;
  for (int step = 1; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    for (const ByteRange& range : split_bytes(shard_bytes, chunks, kGranule)) {
      TransferPiece piece;
      piece.first_source = static_cast<std::uint16_t>(peer);
      piece.source_offset = piece.target_offset = peer * shard_bytes + range.offset;
      piece.bytes = range.bytes;
      piece.chunk = static_cast<std::uint16_t>(signal);
      piece.post_signal = signal++;
      plan.pieces.push_back(piece);
      plan.bytes_read += range.bytes;
      plan.bytes_written += range.bytes;
    }
  }
  return plan;
}

CollectivePlan plan_reduce_scatter(int ranks, int rank, std::int64_t shard_bytes, int chunks) {
  check_group(ranks, rank, shard_bytes, chunks);
  CollectivePlan plan;
  std::uint32_t signal = 0;
  for (const ByteRange& range : split_bytes(shard_bytes, chunks, kGranule)) {
    TransferPiece piece;
    piece.sources = static_cast<std::uint16_t>(ranks);
    piece.source_offset = rank * shard_bytes + range.offset;
    piece.target_offset = range.offset;
    piece.bytes = range.bytes;
    piece.chunk = static_cast<std::uint16_t>(signal);
    piece.post_signal = signal++;
    plan.pieces.push_back(piece);
    plan.bytes_read += range.bytes * ranks;
    plan.bytes_written += range.bytes;
  }
  return plan;
}

CollectivePlan plan_all_reduce_one_shot(int ranks, int rank, std::int64_t bytes, int chunks) {
  check_group(ranks, rank, bytes, chunks);
  CollectivePlan plan = plan_reduce_scatter(ranks, 0, bytes, chunks);
  return plan;
}

CollectivePlan plan_all_to_all(int ranks, int rank, std::int64_t block_bytes, int chunks) {
  check_group(ranks, rank, block_bytes, chunks);
  CollectivePlan plan;
  std::uint32_t signal = 0;
  for (int step = 0; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    for (const ByteRange& range : split_bytes(block_bytes, chunks, kGranule)) {
      TransferPiece piece;
      piece.first_source = static_cast<std::uint16_t>(peer);
      piece.source_offset = rank * block_bytes + range.offset;
      piece.target_offset = peer * block_bytes + range.offset;
      piece.bytes = range.bytes;
      piece.chunk = static_cast<std::uint16_t>(signal);
      piece.post_signal = signal++;
      plan.pieces.push_back(piece);
      plan.bytes_read += range.bytes;
      plan.bytes_written += range.bytes;
    }
  }
  return plan;
}

}  // namespace weft::kernels
