// SPDX-License-Identifier: Apache-2.0
// What a terminal gets and a file does not: colours and progress.
#include <chrono>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/command.hpp"
#include "tools/weft/progress.hpp"

namespace weft::tool {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTextbook = "simulate configs/scenarios/pipeline-4x3ms-2ms.json";
constexpr const char* kEscape = "\x1b[";

TEST_F(Command, ColoursAreForTerminalsUnlessAskedFor) {
  EXPECT_THAT(weft(kTextbook).out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(weft(std::string("--color always ") + kTextbook).out, HasSubstr(kEscape));
  // script(1), which Debian and Ubuntu cannot be without, runs it in a terminal of its own.
  const auto in_terminal = [&](const std::string& before) {
    return shell(before + "script -qec \"$WEFT " + kTextbook + "\" /dev/null").out;
  };
  ASSERT_EQ(shell("command -v script").code, 0) << "install bsdutils";
  EXPECT_THAT(in_terminal(""), HasSubstr(kEscape));
  EXPECT_THAT(in_terminal("NO_COLOR=1 "), Not(HasSubstr(kEscape)));
}

class ProgressLine : public testing::Test {
 protected:
  Progress::Clock::time_point now_{};
  std::ostringstream stream_;
  Progress on(bool terminal) {
    return Progress(stream_, terminal, [this] { return now_; });
  }
};

TEST_F(ProgressLine, IsQuietInTheFirstSecond) {
  Progress progress = on(true);
  now_ += 999ms;
  progress.say("1 of 9");
  EXPECT_EQ(stream_.str(), "");
  now_ += 1ms;
  progress.say("2 of 9");
  EXPECT_THAT(stream_.str(), HasSubstr("2 of 9"));
}

TEST_F(ProgressLine, IsRewrittenTenTimesASecondAtMostAndErasedAtTheEnd) {
  {
    Progress progress = on(true);
    now_ += 2s;
    progress.say("a");
    now_ += 99ms;
    progress.say("b");
    now_ += 1ms;
    progress.say("c");
  }
  EXPECT_EQ(stream_.str(), "\r\x1b[Ka\r\x1b[Kc\r\x1b[K");
}

TEST_F(ProgressLine, IsNotWrittenToAFile) {
  Progress progress = on(false);
  now_ += 1h;
  progress.say("9 of 9");
  progress.clear();
  EXPECT_EQ(stream_.str(), "");
}

}  // namespace
}  // namespace weft::tool
