#include "serving/turn_line.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

std::size_t nothing(const std::string&) {
  return 0;
}
std::size_t plenty(const std::string&) {
  return 1000;
}

TEST(TurnLine, WithoutABoundNobodyWaits) {
  const TurnLine<int> line(0);
  EXPECT_TRUE(line.may_go("a", 1'000'000, 1'000'000));
}

TEST(TurnLine, LetsGoOnUntilEnoughIsUnderWay) {
  TurnLine<int> line(64);
  EXPECT_TRUE(line.may_go("a", 63, 63));
  EXPECT_FALSE(line.may_go("a", 64, 64));
  line.wait("a", 10, 1);
  EXPECT_EQ(line.units(), 10U);
  EXPECT_FALSE(line.next(64, plenty));
  EXPECT_EQ(line.next(63, plenty), 1);
  EXPECT_EQ(line.units(), 0U);
  EXPECT_FALSE(line.next(0, nothing));
}

TEST(TurnLine, NothingPassesWhatWaitsOfItsClient) {
  TurnLine<int> line(64);
  line.wait("a", 1, 1);
  line.wait("a", 1, 2);
  EXPECT_FALSE(line.may_go("a", 0, 0));
  EXPECT_TRUE(line.may_go("b", 0, 0));
  EXPECT_FALSE(line.may_go("b", 63, 5)) << "it would take the room that another waits for";
  EXPECT_EQ(line.next(0, plenty), 1);
  EXPECT_FALSE(line.may_go("a", 0, 0));
  EXPECT_EQ(line.next(0, plenty), 2);
  EXPECT_TRUE(line.may_go("a", 0, 0));
}

TEST(TurnLine, ClientsTakeTurns) {
  TurnLine<int> line(64);
  for (int i = 1; i <= 3; ++i) line.wait("a", 1, i);
  line.wait("b", 1, 10);
  line.wait("c", 1, 20);
  line.wait("c", 1, 21);
  std::vector<int> order;
  while (const auto item = line.next(0, plenty)) order.push_back(*item);
  EXPECT_EQ(order, (std::vector<int>{1, 10, 20, 2, 21, 3}));
}

TEST(TurnLine, EachClientMayAlwaysHaveALittleUnderWay) {
  TurnLine<int> line(64);
  EXPECT_TRUE(line.may_go("b", 64, 4)) << "a sixteenth, and one";
  EXPECT_FALSE(line.may_go("b", 64, 5));
  line.wait("a", 1, 1);
  line.wait("b", 1, 2);
  const auto own = [](const std::string& client) { return std::size_t{client == "a" ? 64U : 4U}; };
  EXPECT_EQ(line.next(64, own), 2) << "it passes the one whose share is used up";
  EXPECT_FALSE(line.next(64, own));
}

TEST(TurnLine, WhatCannotWaitTakesItsClientsAlong) {
  TurnLine<int> line(1);
  line.wait("a", 2, 1);
  line.wait("b", 3, 2);
  line.wait("a", 4, 3);
  EXPECT_EQ(line.next_of("a"), 1);
  EXPECT_EQ(line.units(), 7U);
  EXPECT_EQ(line.next_of("a"), 3);
  EXPECT_FALSE(line.next_of("a"));
  EXPECT_FALSE(line.waits("a"));
  EXPECT_EQ(line.next_of_any(), 2);
  EXPECT_FALSE(line.next_of_any());
  EXPECT_EQ(line.units(), 0U);
}

// Whatever comes and goes: each once, each client's in order, no more under way than there may be, nobody
// forgotten.
TEST(TurnLine, KeepsItsPromisesInRandomRuns) {
  constexpr std::size_t kBound = 32, kLargest = 7;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::size_t>(random() % n); };
    struct Item {
      std::string client;
      int number = 0;
      std::size_t units = 0;
    };
    TurnLine<Item> line(kBound);
    std::map<std::string, std::size_t> own;
    std::map<std::string, int> given, seen;
    std::vector<Item> running;
    std::size_t under_way = 0, waiting = 0;
    const auto run = [&](Item item) {
      EXPECT_EQ(item.number, ++seen[item.client]) << "seed " << seed;
      under_way += item.units;
      own[item.client] += item.units;
      running.push_back(std::move(item));
    };
    const auto finish = [&] {
      const std::size_t at = below(static_cast<std::uint32_t>(running.size()));
      under_way -= running[at].units;
      own[running[at].client] -= running[at].units;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    };
    const auto advance = [&] {
      while (auto item = line.next(under_way, [&](const std::string& client) { return own[client]; })) {
        EXPECT_TRUE(under_way < kBound || own[item->client] < kBound / 16 + 1) << "seed " << seed;
        waiting -= item->units;
        run(std::move(*item));
      }
      EXPECT_EQ(line.units(), waiting);
      EXPECT_TRUE(waiting == 0 || under_way >= kBound) << "seed " << seed << ": it waits for nothing";
    };
    for (int step = 0; step < 500; ++step) {
      if (below(2) == 0) {
        Item item{std::string(1, static_cast<char>('a' + below(5))), 0, 1 + below(kLargest)};
        item.number = ++given[item.client];
        if (line.may_go(item.client, under_way, own[item.client])) {
          run(std::move(item));
        } else {
          waiting += item.units;
          const std::string client = item.client;
          line.wait(client, item.units, std::move(item));
        }
      } else if (!running.empty()) {
        finish();
      }
      advance();
    }
    while (!running.empty()) {
      finish();
      advance();
    }
    EXPECT_EQ(seen, given) << "seed " << seed;
  }
}

}  // namespace
}  // namespace volvox
