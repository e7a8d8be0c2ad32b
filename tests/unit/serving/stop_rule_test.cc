#include "serving/stop_rule.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kFirstWish{1h};

StopRule open_rule() {
  StopRule rule(20s);
  rule.open();
  return rule;
}

TEST(StopRuleTest, TheFirstSignalDrains) {
  StopRule rule = open_rule();
  EXPECT_FALSE(rule.deadline());
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish), StopStep::kDrain);
  EXPECT_EQ(rule.deadline(), kFirstWish + 20s);
}

TEST(StopRuleTest, ASignalRightAfterTheFirstIsTheSameWish) {
  StopRule rule = open_rule();
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish), StopStep::kDrain);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish), StopStep::kNone);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish + 999ms), StopStep::kNone);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish + 1s), StopStep::kLeave);
}

TEST(StopRuleTest, AnOrderBeforeTheFirstSignalIsNoSignal) {
  StopRule rule = open_rule();
  EXPECT_EQ(rule.hear(StopAsker::kOrder, kFirstWish), StopStep::kDrain);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish + 5s), StopStep::kNone) << "the first from outside";
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish + 5500ms), StopStep::kNone);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish + 6s), StopStep::kLeave);
  EXPECT_EQ(rule.deadline(), kFirstWish + 20s) << "from the first wish of anybody";
}

TEST(StopRuleTest, OrdersNeverHurry) {
  StopRule rule = open_rule();
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish), StopStep::kDrain);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(rule.hear(StopAsker::kOrder, kFirstWish + i * 1s), StopStep::kNone);
}

TEST(StopRuleTest, BeforeThereAreClientsASignalNeedsNoDrain) {
  StopRule rule(20s);
  EXPECT_EQ(rule.hear(StopAsker::kSignal, kFirstWish), StopStep::kLeave);
}

TEST(StopRuleTest, ALongTimeDoesNotOverflow) {
  StopRule rule(Duration::max());
  EXPECT_EQ(rule.hear(StopAsker::kOrder, kFirstWish), StopStep::kDrain);
  EXPECT_EQ(rule.deadline(), TimePoint::max());
}

}  // namespace
}  // namespace volvox
