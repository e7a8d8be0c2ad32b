#include <gtest/gtest.h>

#include "routing/attempts.h"
#include "routing/node_load.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(NodeLoad, IsExactAboutItsOwnAndSlowAboutOthers) {
  NodeLoad load;
  load.sent(milliseconds(3));
  load.sent(milliseconds(4));
  load.reported(milliseconds(40));
  EXPECT_EQ(load.estimate(), milliseconds(47));
  load.finished(milliseconds(4));
  EXPECT_EQ(load.estimate(), milliseconds(43));
  load.reported(milliseconds(0));
  EXPECT_EQ(load.estimate(), microseconds(40'500)) << "one report does not turn everything round";
  for (int i = 0; i < 1000; ++i) load.reported(milliseconds(0));
  EXPECT_NEAR(static_cast<double>(load.estimate().count()), 3e6, 20);
}

TEST(NodeLoad, BelievesNoNodeThatIsBusyForEver) {
  NodeLoad load;
  load.reported(Duration::max());
  EXPECT_EQ(load.estimate(), kMostWork);
  load.reported(Duration::min());
  EXPECT_LT(load.estimate(), kMostWork);
  for (int i = 0; i < 1000; ++i) load.reported(Duration::max());
  EXPECT_LE(load.estimate(), kMostWork);
  for (int i = 0; i < 100'000; ++i) load.sent(kMostWork);
  EXPECT_GT(load.estimate(), kMostWork);
}

TEST(AttemptTable, OnlyTheNewestAttemptsAnswerCountsAndOnce) {
  const NodeId a{0, 1}, b{1, 0};
  AttemptTable table;
  const AttemptId first = table.begin(77, a, {milliseconds(2), 100});
  EXPECT_EQ(table.on(a), 1U);
  EXPECT_EQ(table.take_charge(first).bytes, 100U);
  EXPECT_EQ(table.take_charge(first).bytes, 0U) << "once";
  const AttemptId second = table.again(first, b, {});
  EXPECT_EQ(table.on(a), 0U);
  EXPECT_EQ(table.node(second), b);
  EXPECT_FALSE(table.end(first));
  EXPECT_EQ(table.end(second), 77U);
  EXPECT_FALSE(table.end(second));
  const AttemptId other = table.begin(78, a, {});
  EXPECT_NE(other, first) << "an id is never given twice";
  EXPECT_FALSE(table.end(first));
  EXPECT_EQ(table.size(), 1U);
}

TEST(AttemptTable, ANodesRequestsAreTakenFromItInOrder) {
  const NodeId a{0, 1}, b{1, 0};
  AttemptTable table;
  const AttemptId one = table.begin(1, a, {}), two = table.begin(2, b, {}), three = table.begin(3, a, {});
  EXPECT_EQ(table.take_from(a), (std::vector{one, three}));
  EXPECT_TRUE(table.take_from(a).empty());
  EXPECT_FALSE(table.node(one));
  EXPECT_EQ(table.request(one), 1U);
  EXPECT_EQ(table.node(two), b);
  const AttemptId again = table.again(three, {0, 2}, {});
  EXPECT_EQ(table.end(one), 1U);
  EXPECT_EQ(table.end(again), 3U);
}

}  // namespace
}  // namespace volvox
