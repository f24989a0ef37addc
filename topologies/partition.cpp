// SPDX-License-Identifier: Apache-2.0
// Which SMs does a rank have that shares its device with others?
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/units/check.hpp"
#include "topologies/build.hpp"

namespace weft::topology {

namespace {

/// Green contexts of Hopper come in so many SMs of one GPC as long as GPCs have them (CUDA driver API, SM resources).
constexpr int kPartitionPiece = 8;

/// SMs of a piece by GPC.
using Piece = std::vector<std::pair<std::size_t, int>>;

/// Takes up to so many SMs of what GPCs have left.
void take(std::vector<int>& left, int sms, Piece& piece) {
  for (std::size_t gpc = 0; gpc < left.size() && sms > 0; ++gpc) {
    const int taken = std::min(sms, left[gpc]);
    if (taken > 0) piece.emplace_back(gpc, taken);
    left[gpc] -= taken;
    sms -= taken;
  }
}

/// So many pieces of a device: those that are no whole ones, and the whole ones behind them. Where GPCs do not have
/// enough whole ones, one is halved and both halves are filled up with what GPCs have left: seen on an H200, whose
/// first part of 64, 32 or 16 SMs of 132 holds clusters of eight but for 8 of its SMs, and of four but for 4.
struct Pieces {
  std::vector<Piece> mixed, whole;
};

Pieces pieces_of(std::vector<int> left, int size, int count) {
  Pieces pieces;
  for (std::size_t gpc = 0; gpc < left.size(); ++gpc) {
    for (; left[gpc] >= size; left[gpc] -= size) pieces.whole.push_back({{gpc, size}});
  }
  const auto missing = [&] {
    return count - static_cast<int>(pieces.whole.size() + pieces.mixed.size());
  };
  while (missing() > 0 && !pieces.whole.empty()) {
    const std::size_t gpc = pieces.whole.back().front().first;
    pieces.whole.pop_back();
    for (const int half : {size / 2, size - size / 2}) {
      pieces.mixed.push_back({{gpc, half}});
      take(left, size - half, pieces.mixed.back());
    }
  }
  while (missing() > 0) take(left, size, pieces.mixed.emplace_back());
  return pieces;
}

}  // namespace

std::vector<int> sms_of_share(const std::vector<int>& sms_per_gpc, int share, int shares) {
  WEFT_CHECK(share >= 0 && share < shares, "share {} of {}", share, shares);
  const int all = std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), 0);
  const int size = all / shares >= kPartitionPiece ? kPartitionPiece : 1;
  const auto count = static_cast<std::size_t>(all / shares / size);
  const auto parts = static_cast<std::size_t>(shares), wanted = static_cast<std::size_t>(share);
  const Pieces pieces = pieces_of(sms_per_gpc, size, static_cast<int>(count * parts));
  std::vector<int> part(sms_per_gpc.size(), 0);
  const auto give = [&](const Piece& piece) {
    for (const auto& [gpc, sms] : piece) part[gpc] += sms;
  };
  // A mixed piece to each part in turn, then whole ones until each part has as many pieces.
  std::size_t next = 0;
  for (std::size_t one = 0; one <= wanted; ++one) {
    std::size_t has = 0;
    for (std::size_t i = one; i < pieces.mixed.size(); i += parts, ++has)
      if (one == wanted) give(pieces.mixed[i]);
    for (; has < count && next < pieces.whole.size(); ++has, ++next)
      if (one == wanted) give(pieces.whole[next]);
  }
  return part;
}

}  // namespace weft::topology
