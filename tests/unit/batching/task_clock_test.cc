#include "batching/task_clock.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint{} + milliseconds(ms);
}

TEST(TaskClock, ATaskRunsSinceTheOneBeforeCameBack) {
  TaskClock clock;
  EXPECT_FALSE(clock.overdue_at(milliseconds(5)).has_value());
  clock.submitted(1, at(10));
  clock.submitted(2, at(11));
  EXPECT_EQ(clock.overdue_at(milliseconds(5)), at(15));
  EXPECT_EQ(clock.ended(2, at(13)), Duration(milliseconds(3)));
  EXPECT_EQ(clock.overdue_at(milliseconds(5)), at(18));
  EXPECT_EQ(clock.ended(1, at(17)), Duration(milliseconds(4)));
  EXPECT_FALSE(clock.overdue_at(milliseconds(5)).has_value());
  clock.submitted(1, at(100));  // the time between was idle
  EXPECT_EQ(clock.ended(1, at(101)), Duration(milliseconds(1)));
}

}  // namespace
}  // namespace volvox
