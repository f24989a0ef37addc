// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/event_queue.hpp"

#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/queue/event_key.hpp"

namespace weft::sim {
namespace {

using Queue = EventQueue<EventKey, int>;

EventKey key(std::int64_t ps, std::uint32_t range = 0) {
  return {TimePoint::from_ps(ps), {.range = range}};
}

TEST(EventKey, OrdersByTimePhaseDevicePriorityStreamCommandRange) {
  const std::vector<EventKey> ascending = {
      {TimePoint::from_ps(1), {.phase = Phase::observe, .device = 9}},
      {TimePoint::from_ps(2), {.phase = Phase::finish, .device = 9}},
      {TimePoint::from_ps(2), {.phase = Phase::start, .device = 0, .stream = 9}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start, .device = 1, .stream_priority = 5, .stream = 9}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start, .device = 1, .stream_priority = 0, .stream = 8}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start, .device = 1, .stream_priority = -1, .stream = 1}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start, .device = 1, .stream_priority = -1, .stream = 2, .command = 9}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start,
        .device = 1,
        .stream_priority = -1,
        .stream = 3,
        .command = 1,
        .range = 9}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start,
        .device = 1,
        .stream_priority = -1,
        .stream = 3,
        .command = 2,
        .range = 1}},
      {TimePoint::from_ps(2),
       {.phase = Phase::start,
        .device = 1,
        .stream_priority = -1,
        .stream = 3,
        .command = 2,
        .range = 2}},
  };
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ascending[i] < ascending[j], i < j) << i << " and " << j;
    }
  }
}

TEST(EventQueue, OrderIsTheKeysWhateverTheOrderOfInsertion) {
  std::vector<std::uint32_t> ranges(100);
  for (std::uint32_t i = 0; i < ranges.size(); ++i) ranges[i] = i;
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::shuffle(ranges.begin(), ranges.end(), random);
    Queue queue;
    for (const std::uint32_t range : ranges) queue.schedule(key(5, range), static_cast<int>(range));
    for (int expected = 0; expected < 100; ++expected) {
      EXPECT_EQ(queue.pop()->payload, expected);
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(EventQueue, SchedulingInThePastThrowsWithBothTimes) {
  Queue queue;
  queue.schedule(key(100), 0);
  const EventHandle later = queue.schedule(key(200), 1);
  queue.pop();
  EXPECT_EQ(queue.now(), TimePoint::from_ps(100));
  queue.schedule(key(100), 2);
  try {
    queue.schedule(key(99), 3);
    FAIL() << "nothing was thrown";
  } catch (const PastEventError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("99 ps"), testing::HasSubstr("100 ps")));
  }
  EXPECT_THROW(queue.reschedule(later, key(98)), PastEventError);
}

TEST(EventQueue, CancelledEventNeverHappensAndItsHandleDies) {
  Queue queue;
  const EventHandle first = queue.schedule(key(1), 1);
  queue.schedule(key(2), 2);
  EXPECT_TRUE(queue.cancel(first));
  EXPECT_FALSE(queue.cancel(first));
  const EventHandle reused = queue.schedule(key(3), 3);
  EXPECT_FALSE(queue.pending(first));
  EXPECT_TRUE(queue.pending(reused));
  EXPECT_EQ(queue.pop()->payload, 2);
  EXPECT_EQ(queue.pop()->payload, 3);
  EXPECT_FALSE(queue.pending(reused));
  EXPECT_FALSE(queue.pop().has_value());
  EXPECT_THROW(queue.reschedule(reused, key(9)), CheckFailure);
}

TEST(EventQueue, MovedEventHappensAtItsLastKeyOnly) {
  Queue queue;
  const EventHandle moved = queue.schedule(key(10), 1);
  queue.schedule(key(20), 2);
  queue.reschedule(moved, key(30));
  queue.reschedule(moved, key(25));
  EXPECT_EQ(queue.next_key()->time().ps(), 20);
  EXPECT_EQ(queue.pop()->payload, 2);
  const auto event = queue.pop();
  EXPECT_EQ(event->payload, 1);
  EXPECT_EQ(event->key.time().ps(), 25);
  EXPECT_FALSE(queue.pop().has_value());
}

// The reference is an ordered map: every operation on both, every answer compared.
class EventQueueDifferential : public testing::TestWithParam<unsigned> {};

TEST_P(EventQueueDifferential, AgreesWithAnOrderedMap) {
  const unsigned seed = GetParam();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Queue queue;
  std::map<EventKey, int> reference;
  std::map<int, std::pair<EventHandle, EventKey>> handles;
  std::int64_t now = 0;
  std::uint32_t unique = 0;
  for (int step = 0; step < 20000; ++step) {
    const int what = draw(10);
    if (what < 4) {
      const EventKey at(TimePoint::from_ps(now + draw(50)),
                        {.phase = static_cast<Phase>(draw(3)), .range = unique++});
      reference.emplace(at, step);
      handles.emplace(step, std::pair(queue.schedule(at, step), at));
    } else if (what < 7 && !handles.empty()) {
      auto it = handles.lower_bound(draw(step + 1));
      if (it == handles.end()) it = handles.begin();
      auto& [handle, at] = it->second;
      ASSERT_TRUE(queue.pending(handle));
      reference.erase(at);
      if (what == 4) {
        ASSERT_TRUE(queue.cancel(handle));
        handles.erase(it);
      } else {
        at = at.at(TimePoint::from_ps(now + draw(50)));
        queue.reschedule(handle, at);
        reference.emplace(at, it->first);
      }
    } else if (const auto event = queue.pop()) {
      ASSERT_FALSE(reference.empty());
      ASSERT_EQ(event->key, reference.begin()->first);
      ASSERT_EQ(event->payload, reference.begin()->second);
      now = event->key.time().ps();
      ASSERT_FALSE(queue.pending(handles.at(event->payload).first));
      handles.erase(event->payload);
      reference.erase(reference.begin());
    }
    ASSERT_EQ(queue.size(), reference.size());
  }
  while (const auto event = queue.pop()) {
    ASSERT_EQ(event->payload, reference.begin()->second);
    reference.erase(reference.begin());
  }
  EXPECT_TRUE(reference.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, EventQueueDifferential, testing::Range(1U, 9U));

}  // namespace
}  // namespace weft::sim
