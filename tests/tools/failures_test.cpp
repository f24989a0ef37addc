// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/failures.hpp"

#include <cerrno>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/error.hpp"
#include "models/planner/search.hpp"
#include "models/profile/profile.hpp"
#include "sim/run.hpp"
#include "topologies/build.hpp"

namespace weft::tool {
namespace {

using testing::HasSubstr;

struct Ended {
  ExitCode code;
  std::string told;
};

Ended end_of(const std::function<ExitCode()>& command) {
  std::ostringstream err;
  const ExitCode code = guarded(command, err);
  return {code, err.str()};
}

TEST(Failures, ACommandsOwnCodePassesInSilence) {
  for (const ExitCode code : {ExitCode::ok, ExitCode::failed}) {
    const Ended ended = end_of([code] { return code; });
    EXPECT_EQ(ended.code, code);
    EXPECT_EQ(ended.told, "");
  }
}

TEST(Failures, WhatTheUserCanMendEndsWithTwo) {
  EXPECT_EQ(end_of([]() -> ExitCode { throw UsageError("no such schedule"); }).code,
            ExitCode::bad_input);
  const Ended file = end_of([]() -> ExitCode {
    throw std::system_error(ENOSPC, std::generic_category(), "cannot write t.json");
  });
  EXPECT_EQ(file.code, ExitCode::bad_input);
  EXPECT_THAT(file.told, HasSubstr("t.json"));
  EXPECT_EQ(
      end_of([]() -> ExitCode { throw model::MissingConstant("no matrix rate for fp32"); }).code,
      ExitCode::bad_input);
  EXPECT_EQ(end_of([]() -> ExitCode { throw std::overflow_error("product does not fit"); }).code,
            ExitCode::bad_input);
}

TEST(Failures, AProgramThatNeverEndsFails) {
  const Ended ended = end_of([]() -> ExitCode { throw sim::DeadlockError("rank 0 waits"); });
  EXPECT_EQ(ended.code, ExitCode::failed);
  EXPECT_THAT(ended.told, HasSubstr("rank 0 waits"));
  EXPECT_EQ(end_of([]() -> ExitCode { throw model::SearchStopped(); }).code, ExitCode::failed);
}

TEST(Failures, AnErrorOfWeftItselfEndsWithThreeAndIsNotBlamedOnTheFiles) {
  const Ended ended = end_of([]() -> ExitCode { throw std::logic_error("a span of -1 ps"); });
  EXPECT_EQ(ended.code, ExitCode::internal);
  EXPECT_THAT(ended.told, HasSubstr("internal error: a span of -1 ps"));
  EXPECT_THAT(ended.told, HasSubstr("not of your files"));
}

}  // namespace
}  // namespace weft::tool
