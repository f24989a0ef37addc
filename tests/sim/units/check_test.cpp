// SPDX-License-Identifier: Apache-2.0
#include "sim/units/check.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/units/format.hpp"

namespace weft {
namespace {

using namespace literals;

TEST(Check, PassesSilentlyAndEvaluatesTheConditionOnce) {
  int evaluated = 0;
  WEFT_CHECK(++evaluated == 1, "evaluated {} times", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(Check, FailureSaysWhereAndWhatAndTheCondition) {
  const int line = __LINE__ + 2;
  try {
    WEFT_CHECK(1_us > 2_us, "event at {} is before {}", 1_us, 2_us);
    FAIL() << "did not throw";
  } catch (const CheckFailure& failure) {
    EXPECT_EQ(failure.line(), line);
    EXPECT_THAT(failure.file(), testing::EndsWith("check_test.cpp"));
    EXPECT_THAT(failure.what(), testing::EndsWith("check_test.cpp:" + std::to_string(line) +
                                                  ": event at 1 us is before 2 us (1_us > 2_us)"));
  }
}

TEST(Check, SentenceNeedsNoValues) {
  EXPECT_THROW(WEFT_CHECK(false, "never"), CheckFailure);
}

}  // namespace
}  // namespace weft
