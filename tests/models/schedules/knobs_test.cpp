// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/knobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/units/check.hpp"

namespace weft::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<KnobSpec> specs() {
  return {{"chunks", "pieces", {std::int64_t{1}, std::int64_t{2}}, std::int64_t{1}, ""},
          {"transport", "who", {"sm", "copy_engine"}, "sm", ""}};
}

TEST(Knobs, StartAtTheirDefaults) {
  EXPECT_EQ(Knobs(specs()).to_text(), "chunks=1 transport=sm");
}

TEST(Knobs, NameWhatIsWrongAndWhatWouldBeRight) {
  Knobs knobs;
  knobs.set("chunk", std::int64_t{2});
  knobs.set("transport", "tcp");
  EXPECT_THAT(faults_of(knobs, specs()),
              ElementsAre("there is no knob \"chunk\" (did you mean \"chunks\"?)",
                          "knob \"transport\" cannot be tcp (legal: sm, copy_engine)"));
}

TEST(Knobs, OpenOnesTakeOtherValuesOfTheirKindAlone) {
  std::vector<KnobSpec> open = specs();
  open.front().open = "any other count";
  Knobs knobs;
  knobs.set("chunks", std::int64_t{24});
  EXPECT_TRUE(faults_of(knobs, open).empty());
  knobs.set("chunks", "many");
  EXPECT_EQ(faults_of(knobs, open).size(), 1U);
}

TEST(Knobs, CombineToTheProductOfTheirValues) {
  EXPECT_EQ(all_combinations(specs()).size(), 4U);
  Knobs fixed;
  fixed.set("transport", "sm");
  EXPECT_EQ(all_combinations(specs(), fixed).size(), 2U);
}

TEST(Knobs, AskedForTheWrongKindAreACallersBug) {
  const Knobs knobs(specs());
  EXPECT_THROW(static_cast<void>(knobs.count("transport")), CheckFailure);
  EXPECT_THROW(static_cast<void>(knobs.text("pace")), CheckFailure);
}

}  // namespace
}  // namespace weft::model
