// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/move.hpp"

#include <algorithm>
#include <stdexcept>

namespace weft::kernels {
namespace {

/// Twice the L2 of the largest GPU that this was measured on (H200: 60 MB).
constexpr std::int64_t kPastTheCache = 128'000'000;
constexpr std::int64_t kMostSets = 4;

double bytes_per_ns(std::int64_t bytes_per_second) {
  return static_cast<double>(bytes_per_second) * 1e-9;
}

std::function<void(cudaStream_t)> by_copy_engine(Stage& stage, const std::vector<Move>& moves,
                                                 Signal* posts, const Signal* sequence) {
  SymmetricMemory* memory = &stage.memory();
  return [memory, moves, posts, sequence](cudaStream_t stream) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const Move& move = moves[i];
      if (move.bytes > 0)
        memory->copy(move.target, move.to, move.source, move.from,
                     static_cast<std::size_t>(move.bytes), stream);
      if (posts != nullptr) memory->post(posts + i, *sequence, stream);
    }
  };
}

}  // namespace

int rotating_sets(std::int64_t bytes) {
  return static_cast<int>(std::clamp((kPastTheCache + bytes - 1) / std::max<std::int64_t>(bytes, 1),
                                     std::int64_t{1}, kMostSets));
}

std::function<void(cudaStream_t)> make_moves(Stage& stage, int rank, const std::vector<Move>& moves,
                                             const Cut& cut, Signal* posts, const Signal* sequence,
                                             const Signal* waits) {
  if (cut.mover == Mover::library)
    throw std::invalid_argument("a library moves whole collectives, not chunks");
  if (cut.mover == Mover::copy_engine) return by_copy_engine(stage, moves, posts, sequence);
  // Offsets are from one pair of bases: the list is of one case, whose moves may lie anywhere.
  std::vector<TransferPiece> pieces;
  const std::byte* source = moves.empty() ? nullptr : moves.front().source;
  std::byte* target = moves.empty() ? nullptr : moves.front().target;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    TransferPiece piece;
    piece.source_offset = moves[i].source - source;
    piece.target_offset = moves[i].target - target;
    piece.bytes = moves[i].bytes;
    piece.chunk = static_cast<std::uint16_t>(i);
    if (posts != nullptr) piece.post_signal = static_cast<std::uint32_t>(i);
    if (waits != nullptr && moves[i].bytes > 0) piece.wait_signal = static_cast<std::uint32_t>(i);
    pieces.push_back(piece);
  }
  TransferLaunch launch = stage.transfer(rank, pieces);
  launch.sources[0] = source;
  launch.targets[0] = target;
  launch.posts = posts;
  launch.waits = waits;
  launch.ctas = cut.ctas;
  launch.bytes_per_ns = bytes_per_ns(cut.pace_bytes_per_second);
  // The limit is for the way between ranks; this rank's own memory is fast and near.
  const auto crosses = [&](int Move::*end) {
    return std::any_of(moves.begin(), moves.end(),
                       [&](const Move& move) { return move.*end != rank; });
  };
  const bool reads = crosses(&Move::from);
  const bool writes = crosses(&Move::to);
  if (reads || !writes) launch.loads_in_flight_bytes = cut.in_flight_bytes;
  if (writes || !reads) launch.stores_in_flight_bytes = cut.in_flight_bytes;
  SymmetricMemory* memory = &stage.memory();
  return [memory, rank, launch, sequence](cudaStream_t stream) mutable {
    if (launch.count == 0) return;
    if (sequence != nullptr) launch.post_value = launch.wait_value = *sequence;
    memory->enter(rank);
    launch_transfer(launch, stream);
  };
}

std::function<void(cudaStream_t)> make_sum(Stage& stage, int rank,
                                           const std::vector<const std::byte*>& addends,
                                           std::byte* target, std::int64_t bytes, int ctas) {
  if (bytes == 0) return [](cudaStream_t) {};
  TransferPiece piece;
  piece.sources = static_cast<std::uint16_t>(addends.size());
  piece.bytes = bytes;
  TransferLaunch launch = stage.transfer(rank, {piece});
  if (addends.size() > TransferLaunch::kMaxBases) throw std::length_error("too many addends");
  std::copy(addends.begin(), addends.end(), launch.sources);
  launch.targets[0] = target;
  launch.ctas = ctas;
  SymmetricMemory* memory = &stage.memory();
  return [memory, rank, launch](cudaStream_t stream) {
    memory->enter(rank);
    launch_transfer(launch, stream);
  };
}

}  // namespace weft::kernels
