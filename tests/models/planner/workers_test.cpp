// SPDX-License-Identifier: Apache-2.0
#include "models/planner/workers.hpp"

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace weft::model {
namespace {

TEST(Workers, DoEveryPieceOnceWhateverTheirNumber) {
  for (const unsigned threads : {0U, 1U, 2U, 5U}) {
    Workers workers(threads);
    for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
      std::vector<std::atomic<int>> done(count);
      workers.run(count, [&](std::size_t i, unsigned thread) {
        EXPECT_LT(thread, workers.threads());
        ++done[i];
      });
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Workers, ThrowAgainWhatAPieceThrewAndGoOn) {
  for (const unsigned threads : {1U, 3U}) {
    Workers workers(threads);
    EXPECT_THROW(workers.run(100,
                             [](std::size_t i, unsigned) {
                               if (i == 50) throw std::domain_error("piece 50");
                             }),
                 std::domain_error);
    std::atomic<std::size_t> sum = 0;
    workers.run(100, [&](std::size_t i, unsigned) { sum += i; });
    EXPECT_EQ(sum, 4950U);
  }
}

}  // namespace
}  // namespace weft::model
