// SPDX-License-Identifier: Apache-2.0
// Folded and unfolded runs of random symmetric programs agree to the picosecond, in every mode and
// with each effect off. A failure prints its seed.
#include "sim/fold.hpp"

#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/sim/laws/laws.hpp"
#include "tests/sim/laws/symmetric_case.hpp"

namespace weft::sim::laws {
namespace {

using Times = std::map<std::pair<std::uint32_t, std::uint32_t>,
                       std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Times first_rank(const RecordedRun& run) {
  Times times;
  for (const CommandSpan& span : run.records.commands) {
    if (span.command.thread != 0) continue;
    times[{span.command.index, span.command.in_graph}] = {span.ready.ps(), span.start.ps(),
                                                          span.end.ps()};
  }
  return times;
}

void expect_same(const Assembled& made, const Folded& folded, const RunOptions& options) {
  const RecordedRun whole = record(made.machine, made.program, options);
  const RecordedRun one = record(folded.machine, folded.program, options);
  EXPECT_EQ(one.result.end.ps(), whole.result.end.ps());
  EXPECT_EQ(first_rank(one), first_rank(whole));
  EXPECT_EQ(one.result.races, whole.result.races);
}

class SymmetricProgram : public testing::TestWithParam<std::uint64_t> {
 protected:
  SymmetricProgram()
      : trace_(__FILE__, __LINE__, testing::Message() << "seed " << GetParam()),
        turn_(GetParam() % 3 == 0 ? Turn::exclusive_or : Turn::rotation),
        ranks_(turn_ == Turn::exclusive_or ? 4 : 2 + static_cast<int>(GetParam() % 4)),
        case_(symmetric(draw_case(GetParam()), ranks_, turn_)),
        made_(assemble(case_)),
        folded_(fold(made_.machine, made_.program)) {}

  testing::ScopedTrace trace_;
  Turn turn_;
  int ranks_;
  Case case_;
  Assembled made_;
  Folded folded_;
};

TEST_P(SymmetricProgram, FoldedAndUnfoldedAgree) {
  ASSERT_EQ(folded_.refused, "");
  EXPECT_EQ(folded_.ranks_folded, ranks_);
  expect_same(made_, folded_, {});
}

TEST_P(SymmetricProgram, FoldedAndUnfoldedAgreeWithEachEffectOff) {
  for (const EffectSwitch& its : kSwitches) {
    SCOPED_TRACE(its.name);
    RunOptions options;
    options.effects.*its.effect = false;
    EXPECT_NO_THROW(expect_same(made_, folded_, options));
  }
}

TEST_P(SymmetricProgram, FoldedAndUnfoldedHaveTheSameModes) {
  const ModesResult whole = run_modes(made_.machine, made_.program);
  const ModesResult one = run_modes(folded_.machine, folded_.program);
  ASSERT_EQ(one.modes.size(), whole.modes.size());
  EXPECT_EQ(one.unresolved_kinds, whole.unresolved_kinds);
  for (std::size_t m = 0; m < one.modes.size(); ++m) {
    EXPECT_EQ(one.modes[m].result.end.ps(), whole.modes[m].result.end.ps());
    EXPECT_EQ(one.modes[m].choices, whole.modes[m].choices);
    EXPECT_EQ(one.modes[m].share, whole.modes[m].share);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SymmetricProgram, testing::Range<std::uint64_t>(1, 81));

}  // namespace
}  // namespace weft::sim::laws
