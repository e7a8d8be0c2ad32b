#include "loadgen/calls/call_schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds, std::chrono::seconds;

// Runs a schedule as a load does: from one thing that is due to the next, and calls that end give back their
// slots at once.
std::vector<DueFrame> run_schedule(CallSchedule& schedule, Duration until,
                                   Duration stride = Duration::max()) {
  std::vector<DueFrame> all, due;
  Duration now{};
  while (true) {
    const Duration next = schedule.next();
    const Duration step = stride == Duration::max() ? next : now + stride;
    if (step > until) return all;
    now = step;
    due.clear();
    schedule.due(now, due);
    for (const DueFrame& frame : due) {
      EXPECT_LE(frame.due, now);
      if (stride == Duration::max()) {
        EXPECT_EQ(frame.due, now) << "next() says when";
      }
      if (frame.last) schedule.release(frame.call);
    }
    all.insert(all.end(), due.begin(), due.end());
  }
}

TEST(CallSchedule, EachCallSpeaksEveryPeriodAtItsOwnTime) {
  CallSchedule schedule({.calls = 100, .leaves = 0, .seed = 5});
  std::map<std::uint32_t, std::vector<Duration>> times;
  for (const DueFrame& frame : run_schedule(schedule, seconds(10))) {
    EXPECT_EQ(frame.first, times[frame.call].empty());
    EXPECT_FALSE(frame.last);
    times[frame.call].push_back(frame.due);
  }
  ASSERT_EQ(times.size(), 100U);
  std::set<Duration> phases;
  for (const auto& [call, due] : times) {
    phases.insert(due.front());
    EXPECT_GE(due.front(), milliseconds(32));
    EXPECT_LE(due.front(), milliseconds(65));
    for (std::size_t i = 1; i < due.size(); ++i) ASSERT_EQ(due[i] - due[i - 1], milliseconds(32));
    EXPECT_GE(due.back(), seconds(10) - milliseconds(32));
  }
  EXPECT_GT(phases.size(), 60U) << "they are not in step";
  EXPECT_EQ(schedule.live(), 100U);
}

// 480 samples at 44100 a second are no whole number of ticks.
TEST(CallSchedule, PeriodsDoNotDrift) {
  const Duration period(10884353);
  CallSchedule schedule({.calls = 1, .period = period, .leaves = 0});
  const auto frames = run_schedule(schedule, seconds(100));
  const Duration spoken = frames.back().due - frames.front().due;
  const auto periods = static_cast<double>(spoken.count()) / static_cast<double>(period.count());
  EXPECT_NEAR(periods, static_cast<double>(frames.size() - 1), 0.01);
}

TEST(CallSchedule, TheSameFramesHoweverSeldomItIsAsked) {
  const CallRhythm rhythm{
      .calls = 20, .jitter = milliseconds(30), .leaves = 1, .ramp = seconds(1), .seed = 9};
  CallSchedule often(rhythm), seldom(rhythm);
  const auto key = [](const DueFrame& f) { return std::tuple(f.due, f.call, f.first, f.last); };
  auto a = run_schedule(often, seconds(5)), b = run_schedule(seldom, seconds(5), CallSchedule::kTick);
  std::erase_if(a, [](const DueFrame& f) { return f.due > seconds(4); });
  std::erase_if(b, [](const DueFrame& f) { return f.due > seconds(4); });
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(key(a[i]), key(b[i]));
}

TEST(CallSchedule, JitterNeverEarlyNeverOutOfOrder) {
  CallSchedule schedule({.calls = 1, .jitter = milliseconds(32), .leaves = 0, .seed = 2});
  const auto frames = run_schedule(schedule, seconds(60));
  ASSERT_GT(frames.size(), 1800U);
  const Duration join = Duration{0};
  Duration least = Duration::max(), most{};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i > 0) {
      ASSERT_GT(frames[i].due, frames[i - 1].due);
    }
    const Duration off = frames[i].due - join - milliseconds(32) * static_cast<int>(i);
    least = std::min(least, off);
    most = std::max(most, off);
  }
  EXPECT_LE(most - least, milliseconds(32) + 2 * CallSchedule::kTick);
  EXPECT_GT(most - least, milliseconds(28));
}

TEST(CallSchedule, ThoseThatLeaveAreReplaced) {
  CallSchedule schedule({.calls = 1000, .leaves = 0.05, .ramp = seconds(1), .seed = 3});
  std::uint64_t firsts = 0, lasts = 0;
  for (const DueFrame& frame : run_schedule(schedule, seconds(41))) {
    firsts += frame.first ? 1 : 0;
    lasts += frame.last ? 1 : 0;
  }
  // A Poisson process of 50 a second over 40 s: 2000, give or take 45.
  EXPECT_NEAR(static_cast<double>(schedule.left()), 2000, 250);
  EXPECT_EQ(schedule.joined(), schedule.left() + 1000);
  EXPECT_EQ(schedule.live(), 1000U);
  EXPECT_NEAR(static_cast<double>(firsts), static_cast<double>(schedule.joined()), 5);
  EXPECT_NEAR(static_cast<double>(lasts), static_cast<double>(schedule.left()), 5);
}

TEST(CallSchedule, CallsJoinOverTheRamp) {
  CallSchedule schedule({.calls = 1000, .leaves = 0, .ramp = seconds(2)});
  std::vector<DueFrame> due;
  schedule.due(seconds(1), due);
  EXPECT_NEAR(schedule.live(), 500, 80);
  schedule.due(seconds(2), due);
  EXPECT_EQ(schedule.live(), 1000U);
}

TEST(CallSchedule, WhoeverIsHungUpSaysNothingMore) {
  CallSchedule schedule({.calls = 2, .leaves = 0});
  std::vector<DueFrame> due;
  schedule.due(milliseconds(70), due);
  ASSERT_EQ(schedule.in_use(), 2U);
  const std::uint32_t gone = due.front().call;
  schedule.hang_up(gone);
  EXPECT_EQ(schedule.live(), 2U) << "another one has joined";
  EXPECT_EQ(schedule.in_use(), 3U) << "the slot is not free yet";
  due.clear();
  schedule.due(milliseconds(200), due);
  for (const DueFrame& frame : due) EXPECT_NE(frame.call, gone);
  schedule.release(gone);
  EXPECT_EQ(schedule.in_use(), 2U);
}

TEST(CallSchedule, SlotsAreUsedAgainEvenIfGivenBackAtOnce) {
  CallSchedule schedule({.calls = 3, .leaves = 0});
  std::vector<DueFrame> due;
  for (int i = 1; i < 2000; ++i) {
    due.clear();
    schedule.due(milliseconds(10) * i, due);
    for (const DueFrame& frame : due) {
      schedule.hang_up(frame.call);
      schedule.release(frame.call);  // while it still is in the wheel
    }
    if (i < 4) continue;  // they join during the first 32 ms
    ASSERT_EQ(schedule.live(), 3U);
  }
  EXPECT_GT(schedule.joined(), 1000U);
}

// As many slots again are all that calls get which end slowly; who would join then waits.
TEST(CallSchedule, WithoutAFreeSlotNobodyJoins) {
  CallSchedule schedule({.calls = 4, .leaves = 10, .seed = 4});
  std::vector<DueFrame> due;
  schedule.due(seconds(20), due);
  EXPECT_EQ(schedule.in_use(), schedule.slots());
  std::set<std::uint32_t> over;
  for (const DueFrame& frame : due) {
    if (frame.last) over.insert(frame.call);
  }
  for (const std::uint32_t call : over) schedule.release(call);
  EXPECT_EQ(schedule.live(), 4U);
}

TEST(CallSchedule, InTheEndEachCallSaysOneMore) {
  CallSchedule schedule({.calls = 50, .leaves = 0.5, .seed = 8});
  std::vector<DueFrame> due;
  schedule.due(seconds(3), due);
  for (const DueFrame& frame : due) {
    if (frame.last) schedule.release(frame.call);
  }
  const std::uint32_t open = schedule.in_use();
  schedule.end();
  due.clear();
  schedule.due(seconds(4), due);
  EXPECT_EQ(due.size(), open);
  for (const DueFrame& frame : due) {
    EXPECT_TRUE(frame.last);
    schedule.release(frame.call);
  }
  EXPECT_EQ(schedule.in_use(), 0U);
  EXPECT_EQ(schedule.next(), Duration::max());
}

}  // namespace
}  // namespace volvox
