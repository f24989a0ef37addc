// SPDX-License-Identifier: Apache-2.0
// Which SMs does a rank have that shares its device with others?
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "sim/units/check.hpp"
#include "topologies/build.hpp"

namespace weft::topology {

namespace {

/// Green contexts of Hopper have a multiple of so many SMs (CUDA driver API, SM resources).
constexpr int kPartitionPiece = 8;

/// GPCs in the order in which their SMs are dealt: one TPC that stands alone, then GPCs by rising size, then the other
/// lone TPCs. So no part keeps to the edges of GPCs: seen on an H200, where a part of 64, 32 or 16 SMs holds clusters of
/// eight but for 8 of its SMs and of four but for 4, and libraries' products are as slow on all of eight parts.
std::vector<std::size_t> order_of(const std::vector<int>& sms_per_gpc) {
  std::vector<std::size_t> order(sms_per_gpc.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto lone = [&](std::size_t gpc) { return sms_per_gpc[gpc] < kPartitionPiece; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (lone(a) || lone(b)) return !lone(a);
    return sms_per_gpc[a] < sms_per_gpc[b];
  });
  const auto first = std::find_if(order.begin(), order.end(), lone);
  if (first != order.end()) std::rotate(order.begin(), first, first + 1);
  return order;
}

}  // namespace

std::vector<int> sms_of_share(const std::vector<int>& sms_per_gpc, int share, int shares) {
  WEFT_CHECK(share >= 0 && share < shares, "share {} of {}", share, shares);
  const int all = std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), 0);
  const int piece = all / shares >= kPartitionPiece ? kPartitionPiece : 1;
  const int each = all / shares / piece * piece;
  std::vector<int> part(sms_per_gpc.size(), 0);
  int skip = share * each, want = each;
  for (const std::size_t gpc : order_of(sms_per_gpc)) {
    const int passed = std::min(skip, sms_per_gpc[gpc]);
    const int taken = std::min(want, sms_per_gpc[gpc] - passed);
    skip -= passed;
    want -= taken;
    part[gpc] += taken;
  }
  return part;
}

}  // namespace weft::topology
