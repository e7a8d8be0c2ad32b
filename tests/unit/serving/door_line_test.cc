#include "serving/door_line.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(DoorLine, LetsThroughAsManyAsThereAreThreads) {
  DoorLine line(2, 0);
  EXPECT_FALSE(line.next());
  for (DoorLine::Id id = 1; id <= 3; ++id) line.wait(id, "a", false);
  EXPECT_EQ(line.next(), 1U);
  EXPECT_EQ(line.next(), 2U);
  EXPECT_FALSE(line.next());
  line.left(1);
  EXPECT_EQ(line.next(), 3U);
  line.left(2);
  EXPECT_FALSE(line.next()) << "nobody waits";
}

TEST(DoorLine, ContentsLeaveThreadsToQuestions) {
  DoorLine line(3, 1);
  for (DoorLine::Id id = 1; id <= 3; ++id) line.wait(id, "a", false);
  EXPECT_EQ(line.next(), 1U);
  EXPECT_EQ(line.next(), 2U);
  EXPECT_FALSE(line.next());
  line.wait(4, "a", true);
  EXPECT_EQ(line.next(), 4U);
  line.wait(5, "a", true);
  EXPECT_FALSE(line.next());
  line.left(4);
  EXPECT_EQ(line.next(), 5U);
  line.left(1);
  EXPECT_EQ(line.next(), 3U);
}

TEST(DoorLine, WhoHasFewestGoesFirst) {
  DoorLine line(3, 0);
  for (DoorLine::Id id = 1; id <= 50; ++id) line.wait(id, "many", false);
  EXPECT_EQ(line.next(), 1U);
  line.wait(60, "one", false);
  EXPECT_EQ(line.next(), 60U);
  EXPECT_EQ(line.next(), 2U);
  line.left(60);
  EXPECT_EQ(line.next(), 3U);
}

TEST(DoorLine, WhoHasGoneWaitsNoLonger) {
  DoorLine line(1, 0);
  line.wait(1, "a", false);
  line.wait(2, "a", false);
  line.left(1);
  EXPECT_EQ(line.next(), 2U);
  line.left(2);
  line.left(2);
  EXPECT_FALSE(line.next());
}

}  // namespace
}  // namespace volvox
