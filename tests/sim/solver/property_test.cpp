// SPDX-License-Identifier: Apache-2.0
// Random problems against the brute force, after random histories. A failure prints its seed; run
// the one case with --gtest_filter=Seeds/*/<seed>.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sim/solver/fair_share.hpp"
#include "tests/sim/solver/reference.hpp"

namespace weft::sim {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::mt19937_64& engine() { return random_; }

  reference::Activity activity(std::size_t resources) {
    reference::Activity activity;
    activity.amounts.resize(resources);
    for (std::size_t j = 0; j < resources; ++j) {
      if (one_in(3)) activity.amounts[j] = one_in(2) ? 1 : 1 + below(one_in(3) ? 1'000'000 : 9);
    }
    const std::uint64_t at = below(resources);
    activity.amounts[at] = std::max<std::uint64_t>(1, activity.amounts[at]);
    const std::uint64_t denominators[] = {1, 1, 1, 2, 3, 4, 17, 18};
    activity.denominator = denominators[below(8)];
    activity.weight = one_in(2) ? 1 : 1 + below(200);
    if (one_in(4)) activity.weight_per = 1 + below(4);
    if (one_in(2)) activity.cap = 1 + below(200'000'000'000);
    if (one_in(3)) activity.multiplicity = 1 + below(5);
    return activity;
  }

  reference::Problem problem() {
    reference::Problem problem;
    problem.capacities.resize(1 + below(8));
    for (std::uint64_t& capacity : problem.capacities) capacity = 1 + below(900'000'000'000);
    const std::size_t count = 1 + below(20);
    for (std::size_t i = 0; i < count; ++i) {
      problem.activities.push_back(activity(problem.capacities.size()));
    }
    return problem;
  }

 private:
  std::mt19937_64 random_;
};

ActivityId add(FairShare& solver, const reference::Activity& activity, std::uint64_t copies) {
  std::vector<ResourceUse> uses;
  for (std::size_t j = 0; j < activity.amounts.size(); ++j) {
    if (activity.amounts[j] != 0) {
      uses.push_back({ResourceId(static_cast<std::uint32_t>(j)), activity.amounts[j]});
    }
  }
  Demand demand{.uses = uses,
                .denominator = activity.denominator,
                .weight = activity.weight,
                .weight_per = activity.weight_per,
                .multiplicity = copies};
  if (activity.cap) demand.cap = ProgressRate{*activity.cap, 1};
  return solver.add(demand);
}

FairShare with_resources(const reference::Problem& problem) {
  FairShare solver;
  for (const std::uint64_t capacity : problem.capacities) solver.add_resource(capacity);
  return solver;
}

std::vector<UInt128> rates_of(const FairShare& solver, const std::vector<ActivityId>& ids) {
  std::vector<UInt128> rates;
  for (const ActivityId id : ids) rates.push_back(solver.exact_rate(id));
  return rates;
}

class FairShareProperty : public testing::TestWithParam<unsigned> {
 protected:
  FairShareProperty() : trace_(__FILE__, __LINE__, testing::Message() << "seed " << GetParam()) {}

 private:
  testing::ScopedTrace trace_;
};

TEST_P(FairShareProperty, EqualsBruteForceAndMeetsTheBottleneckCondition) {
  Draw draw(GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const reference::Problem problem = draw.problem();
    FairShare solver = with_resources(problem);
    std::vector<ActivityId> ids;
    for (const reference::Activity& activity : problem.activities) {
      ids.push_back(add(solver, activity, activity.multiplicity));
    }
    solver.solve();
    const std::vector<double> expected = reference::fill(problem);
    std::vector<double> actual;
    for (const ActivityId id : ids) actual.push_back(solver.units_per_second(id));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], expected[i] * 1e-12 + 1e-15) << "activity " << i;
    }
    ASSERT_EQ(reference::broken_condition(problem, actual, 1e-12), "");
    for (std::uint32_t j = 0; j < problem.capacities.size(); ++j) {
      ASSERT_LE(solver.exact_load(ResourceId(j)), UInt128{problem.capacities[j]} << 64);
    }
  }
}

TEST_P(FairShareProperty, HistoryDecidesNothing) {
  Draw draw(GetParam());
  const reference::Problem problem = draw.problem();
  FairShare direct = with_resources(problem);
  std::vector<ActivityId> ids;
  for (const reference::Activity& activity : problem.activities) {
    ids.push_back(add(direct, activity, activity.multiplicity));
  }
  direct.solve();

  // The same set of activities, reached by another way: others came and went, some were parked.
  FairShare detour = with_resources(problem);
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), draw.engine());
  std::vector<ActivityId> passing;
  std::vector<ActivityId> later(ids.size(), ActivityId(0));
  for (const std::size_t i : order) {
    passing.push_back(add(detour, draw.activity(problem.capacities.size()), 1 + draw.below(3)));
    later[i] = add(detour, problem.activities[i], draw.below(3));
    if (draw.one_in(2)) detour.solve();
    if (draw.one_in(2)) {
      detour.remove(passing.back());
      passing.pop_back();
    }
    detour.set_multiplicity(later[i], problem.activities[i].multiplicity);
  }
  for (const ActivityId id : passing) detour.remove(id);
  detour.solve();
  EXPECT_EQ(rates_of(direct, ids), rates_of(detour, later));
}

TEST_P(FairShareProperty, CopiesEqualThatManyActivities) {
  Draw draw(GetParam());
  const reference::Problem problem = draw.problem();
  FairShare folded = with_resources(problem);
  FairShare unfolded = with_resources(problem);
  std::vector<ActivityId> copies;
  std::vector<ActivityId> first;
  for (const reference::Activity& activity : problem.activities) {
    copies.push_back(add(folded, activity, activity.multiplicity));
    first.push_back(add(unfolded, activity, 1));
    for (std::uint64_t i = 1; i < activity.multiplicity; ++i) add(unfolded, activity, 1);
  }
  folded.solve();
  unfolded.solve();
  EXPECT_EQ(rates_of(folded, copies), rates_of(unfolded, first));
}

// Two halves that share nothing: each is solved as if the other were not there.
TEST_P(FairShareProperty, DisjointHalvesDoNotSeeEachOther) {
  Draw draw(GetParam());
  const reference::Problem problem = draw.problem();
  FairShare alone = with_resources(problem);
  FairShare both = with_resources(problem);
  const auto shift = static_cast<std::uint32_t>(problem.capacities.size());
  for (const std::uint64_t capacity : problem.capacities) both.add_resource(capacity);
  std::vector<ActivityId> expected;
  std::vector<ActivityId> left;
  std::vector<ActivityId> right;
  for (const reference::Activity& activity : problem.activities) {
    expected.push_back(add(alone, activity, activity.multiplicity));
    left.push_back(add(both, activity, activity.multiplicity));
    reference::Activity moved = activity;
    moved.amounts.insert(moved.amounts.begin(), shift, 0);
    right.push_back(add(both, moved, activity.multiplicity));
  }
  alone.solve();
  both.solve();
  EXPECT_EQ(rates_of(both, left), rates_of(alone, expected));
  EXPECT_EQ(rates_of(both, right), rates_of(alone, expected));
}

// What solve() does not report has not changed: a caller that only listens knows every rate.
TEST_P(FairShareProperty, ListenersKnowEveryRate) {
  Draw draw(GetParam());
  const reference::Problem problem = draw.problem();
  FairShare solver = with_resources(problem);
  std::vector<ActivityId> ids;
  for (const reference::Activity& activity : problem.activities)
    ids.push_back(add(solver, activity, 0));
  std::vector<Pace> known(ids.size());
  for (int step = 0; step < 200; ++step) {
    const std::size_t which = draw.below(ids.size());
    solver.set_multiplicity(ids[which], draw.below(3));
    if (draw.one_in(3)) continue;
    const auto changed = solver.solve();
    std::vector<ActivityId> once(changed.begin(), changed.end());
    std::sort(once.begin(), once.end());
    ASSERT_EQ(std::adjacent_find(once.begin(), once.end()), once.end());
    for (const ActivityId id : changed) known[id.value()] = solver.pace(id);
    for (const ActivityId id : ids) {
      if (solver.pace(id) == Pace()) continue;
      ASSERT_EQ(known[id.value()], solver.pace(id));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FairShareProperty, testing::Range(1U, 25U));

}  // namespace
}  // namespace weft::sim
