// SPDX-License-Identifier: Apache-2.0
// Which SMs does a rank have that shares its device with others?
#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/units/check.hpp"
#include "topologies/build.hpp"

namespace weft::topology {

namespace {

/// Green contexts of Hopper come in so many SMs of one GPC as long as GPCs have them (CUDA driver API, SM resources;
/// seen on H200: 64, 32 and 16 SMs of 132, one of the parts with clusters of eight for all but 8 of its SMs).
constexpr int kPartitionPiece = 8;

}  // namespace

std::vector<int> sms_of_share(const std::vector<int>& sms_per_gpc, int share, int shares) {
  WEFT_CHECK(share >= 0 && share < shares, "share {} of {}", share, shares);
  const int all = std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), 0);
  const int piece = all / shares >= kPartitionPiece ? kPartitionPiece : 1;
  const int pieces = all / shares / piece;
  // The SMs as they are dealt: pieces of one GPC first, then what GPCs have left.
  std::vector<int> whole;
  std::vector<int> left = sms_per_gpc;
  for (int& sms : left) {
    whole.push_back(sms / piece * piece);
    sms -= whole.back();
  }
  std::vector<int> part(sms_per_gpc.size(), 0);
  int skip = share * pieces * piece;
  int want = pieces * piece;
  for (const std::vector<int>& from : {whole, left}) {
    for (std::size_t gpc = 0; gpc < from.size(); ++gpc) {
      const int passed = std::min(skip, from[gpc]);
      const int taken = std::min(want, from[gpc] - passed);
      skip -= passed;
      want -= taken;
      part[gpc] += taken;
    }
  }
  return part;
}

}  // namespace weft::topology
