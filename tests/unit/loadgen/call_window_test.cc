#include "loadgen/calls/call_window.h"

#include <deque>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "shapes/random.h"

namespace volvox {
namespace {

constexpr Duration kDue = std::chrono::milliseconds(5);

TEST(CallWindow, TheFirstFrameGoesAlone) {
  CallWindow window;
  EXPECT_EQ(window.next(), std::nullopt);
  ASSERT_TRUE(window.add(kDue));
  ASSERT_TRUE(window.add(2 * kDue));
  EXPECT_EQ(window.next(), 0U);
  window.sent(0, 70);
  EXPECT_EQ(window.next(), std::nullopt) << "nobody knows yet how the call is called";
  ASSERT_EQ(window.find(70), 0U);
  EXPECT_EQ(window.answered(0).due, kDue);
  EXPECT_EQ(window.next(), 1U);
}

TEST(CallWindow, AFewGoAheadOfAnswers) {
  CallWindow window;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(window.add(kDue * i));
  window.sent(0, 1);
  window.answered(0);
  std::uint64_t ticket = 1;
  while (const auto number = window.next()) window.sent(*number, ++ticket);
  EXPECT_EQ(window.under_way(), CallWindow::kAhead);
  window.answered(1);
  EXPECT_EQ(window.next(), 1U + CallWindow::kAhead);
}

TEST(CallWindow, WhatFailedIsNext) {
  CallWindow window;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(window.add(kDue));
  window.sent(0, 1);
  window.answered(0);
  window.sent(1, 2);
  window.sent(2, 3);
  window.failed(1);
  EXPECT_EQ(window.next(), 1U);
  EXPECT_EQ(window.find(2), std::nullopt) << "that sending was answered";
  EXPECT_EQ(window.sendings(1), 1U);
  window.sent(1, 4);
  EXPECT_EQ(window.find(4), 1U);
  EXPECT_EQ(window.find(3), 2U) << "what was sent ahead still is";
  EXPECT_EQ(window.next(), std::nullopt) << "nothing more before something is answered";
  EXPECT_EQ(window.answered(1).sendings, 2U);
  EXPECT_EQ(window.next(), 3U);
}

TEST(CallWindow, ThereIsABoundToWhatWaits) {
  CallWindow window;
  EXPECT_TRUE(window.add(kDue, 2));
  EXPECT_TRUE(window.add(kDue, 2));
  EXPECT_FALSE(window.add(kDue, 2));
  EXPECT_EQ(window.end(), 2U);
  CallWindow full;
  for (std::uint32_t i = 0; i < CallWindow::kMost; ++i) ASSERT_TRUE(full.add(kDue, 1000));
  EXPECT_FALSE(full.add(kDue, 1000));
}

TEST(CallWindow, CuttingLeavesWhatIsUnderWay) {
  CallWindow window;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(window.add(kDue));
  window.sent(0, 1);
  window.answered(0);
  window.sent(1, 2);
  window.sent(2, 3);
  window.sent(3, 4);
  window.failed(2);
  window.cut(9 * kDue);
  EXPECT_EQ(window.end(), 3U) << "the end takes the place of what failed";
  EXPECT_EQ(window.next(), 2U);
  EXPECT_EQ(window.due(2), 9 * kDue);
  EXPECT_EQ(window.find(2), 1U);
  EXPECT_EQ(window.find(4), std::nullopt);
}

TEST(CallWindow, CuttingBeforeTheFirstAnswerWaitsForIt) {
  CallWindow window;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(window.add(kDue));
  window.sent(0, 1);
  window.cut(kDue);
  EXPECT_EQ(window.next(), std::nullopt);
  window.answered(0);
  EXPECT_EQ(window.next(), 1U);
  EXPECT_EQ(window.end(), 2U);
}

// A server that fails at will, and answers in any order what it has done in order: every frame is answered,
// each once, and none is sent ahead of one that was never sent.
TEST(CallWindow, EveryFrameIsAnsweredWhateverFails) {
  SeededRandom random(11);
  for (int world = 0; world < 200; ++world) {
    CallWindow window;
    std::vector<std::uint64_t> tickets;
    std::set<std::uint64_t> answered;
    std::uint64_t added = 0, ticket = 0, sent = 0;
    while (answered.size() < 100) {
      if (added < 100 && random.below(2) == 0 && window.add(kDue)) ++added;
      while (const auto number = window.next()) {
        ASSERT_LE(*number, sent) << "one was left out";
        sent = std::max(sent, *number + 1);
        window.sent(*number, ++ticket);
        tickets.push_back(ticket);
      }
      ASSERT_LE(window.under_way(), CallWindow::kAhead);
      if (tickets.empty()) continue;
      const std::size_t which = random.below(tickets.size());
      const auto number = window.find(tickets[which]);
      tickets.erase(tickets.begin() + static_cast<std::ptrdiff_t>(which));
      ASSERT_TRUE(number);
      if (random.below(4) == 0) {
        window.failed(*number);
      } else {
        window.answered(*number);
        ASSERT_TRUE(answered.insert(*number).second);
      }
    }
    EXPECT_TRUE(window.empty());
  }
}

}  // namespace
}  // namespace volvox
