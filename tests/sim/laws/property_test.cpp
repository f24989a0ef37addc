// SPDX-License-Identifier: Apache-2.0
// Random programs: laws, relabelling, numbering, time scaling. A failure prints its seed; one seed
// again: --gtest_filter=*RandomProgram*/<seed>.
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/sim/laws/laws.hpp"
#include "tests/sim/laws/random_program.hpp"

namespace weft::sim::laws {
namespace {

/// When each command was ready, started and ended, by the logical rank that called it.
using Outcome = std::map<std::tuple<int, std::uint32_t, std::uint32_t>,
                         std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Outcome outcome(const Assembled& made, const RecordedRun& run) {
  Outcome result;
  for (const CommandSpan& span : run.records.commands) {
    result[{made.rank_of_thread[span.command.thread], span.command.index, span.command.in_graph}] =
        {span.ready.ps(), span.start.ps(), span.end.ps()};
  }
  return result;
}

RunOptions at(Fidelity fidelity) {
  return {.effects = effects_of(fidelity), .races = {}};
}

class RandomProgram : public testing::TestWithParam<std::uint64_t> {
 protected:
  RandomProgram()
      : trace_(__FILE__, __LINE__, testing::Message() << "seed " << GetParam()),
        case_(draw_case(GetParam())) {}

  const Case& drawn() const { return case_; }

 private:
  testing::ScopedTrace trace_;
  Case case_;
};

TEST_P(RandomProgram, ObeysTheLaws) {
  const Assembled made = assemble(drawn());
  const RecordedRun run = run_lawfully(made.machine, made.program, at(Fidelity::contended));
  EXPECT_EQ(rates_equal_filling(run), Breaches());
}

// With one compute engine a rank, a kernel that waits can keep out the one that posts: a deadlock
// that is the program's.
TEST_P(RandomProgram, ObeysTheLawsAtEveryFidelity) {
  const Assembled made = assemble(drawn());
  for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::alpha_beta}) {
    try {
      run_lawfully(made.machine, made.program, at(fidelity));
    } catch (const DeadlockError& deadlock) {
      // The report is a result like any other: it comes again, word for word.
      try {
        run(made.machine, made.program, at(fidelity));
        ADD_FAILURE() << "the deadlock did not come again";
      } catch (const DeadlockError& again) {
        EXPECT_STREQ(again.what(), deadlock.what());
      }
    }
  }
}

TEST_P(RandomProgram, EachEffectObeysTheLawsWhenSwitchedAlone) {
  const Assembled made = assemble(drawn());
  for (const EffectSwitch& its : kSwitches) {
    SCOPED_TRACE(its.name);
    RunOptions options = at(Fidelity::contended);
    options.effects.*its.effect = false;
    EXPECT_NO_THROW(run_lawfully(made.machine, made.program, options));
  }
}

// Each outcome of its races is a run like any other, and comes again.
TEST_P(RandomProgram, EachModeObeysTheLaws) {
  const Assembled made = assemble(drawn());
  const ModesResult result = run_modes(made.machine, made.program);
  double shares = 0;
  for (const Mode& mode : result.modes) {
    RunOptions options = at(Fidelity::contended);
    options.races = mode.choices;
    const RecordedRun run = run_lawfully(made.machine, made.program, options);
    EXPECT_EQ(run.result.end.ps(), mode.result.end.ps());
    shares += mode.share;
  }
  EXPECT_NEAR(shares, 1, 1e-12);
}

TEST_P(RandomProgram, RunsTheSameTwice) {
  const Assembled made = assemble(drawn());
  const RecordedRun first = record(made.machine, made.program);
  const RecordedRun second = record(made.machine, made.program);
  EXPECT_EQ(first.result.end, second.result.end);
  EXPECT_EQ(outcome(made, first), outcome(made, second));
}

TEST_P(RandomProgram, NamesOfRanksDecideNothing) {
  const Assembled made = assemble(drawn());
  const Assembled other = assemble(drawn(), relabelled(drawn()));
  EXPECT_EQ(outcome(made, record(made.machine, made.program)),
            outcome(other, record(other.machine, other.program)));
}

TEST_P(RandomProgram, OrderOfAssemblyDecidesNothing) {
  const Assembled made = assemble(drawn());
  const Assembled other = assemble(drawn(), {.place_of_rank = {}, .numbering_seed = GetParam()});
  EXPECT_EQ(outcome(made, record(made.machine, made.program)),
            outcome(other, record(other.machine, other.program)));
}

// k times the durations and k times the bytes at the same rates: k times the time, but for a
// picosecond at each event that was rounded up.
TEST_P(RandomProgram, TimeScalesWithinAPicosecondAnEvent) {
  constexpr std::int64_t kScale = 3;
  const Assembled made = assemble(drawn());
  const Assembled slow =
      assemble(drawn(), {.place_of_rank = {}, .numbering_seed = 0, .time_scale = kScale});
  const RecordedRun base = record(made.machine, made.program);
  const RecordedRun scaled = record(slow.machine, slow.program);
  const std::int64_t slack = kScale * static_cast<std::int64_t>(base.result.events + 1);
  EXPECT_NEAR(static_cast<double>(scaled.result.end.ps()),
              static_cast<double>(kScale * base.result.end.ps()), static_cast<double>(slack));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgram, testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace weft::sim::laws
