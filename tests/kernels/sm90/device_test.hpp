// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that run kernels.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/kernels/sm90/device.hpp"

namespace weft::kernels::test {

/// Skips, by name, where there is no device of compute capability 9.0: a machine without one can compile kernels and
/// cannot run them. Where a device is expected, WEFT_REQUIRE_DEVICE=1 makes its absence a failure, so that a run that
/// is meant to prove the kernels cannot pass by skipping them.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = missing_device();
    if (missing.empty()) return;
    ASSERT_EQ(std::getenv("WEFT_REQUIRE_DEVICE"), nullptr) << "a device is required: " << missing;
    GTEST_SKIP() << missing;
  }
};

}  // namespace weft::kernels::test
