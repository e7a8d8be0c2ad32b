#include "batching/client_turns.h"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using List = std::vector<std::uint32_t>;

// A line of requests, numbered as they come.
class Line {
 public:
  std::uint32_t come(std::uint64_t client, std::uint32_t cells) {
    const auto request = static_cast<std::uint32_t>(places_.size());
    places_.emplace_back().cells = cells;
    turns.push(places_, request, client);
    client_of[request] = client;
    return request;
  }
  void come(std::uint64_t client, std::uint32_t cells, std::uint32_t count) {
    for (; count > 0; --count) come(client, cells);
  }
  void go(std::uint32_t request) { turns.remove(places_, request); }

  // The next `count` that enter; those that `fits` refuses are passed by.
  template <class Fits>
  List enter(std::uint32_t count, Fits fits) {
    List in;
    std::uint32_t passed = kNobody;
    for (std::uint32_t r; in.size() < count && (r = turns.next(places_)) != kNobody;) {
      if (fits(r)) {
        turns.enter(places_, r);
        cells_of[client_of[r]] += places_[r].cells;
        in.push_back(r);
      } else {
        turns.pass(places_, r);
        if (passed == kNobody) passed = r;
      }
    }
    turns.end_walk(places_, passed);
    return in;
  }
  List enter(std::uint32_t count) {
    return enter(count, [](std::uint32_t) { return true; });
  }

  ClientTurns turns;
  std::map<std::uint32_t, std::uint64_t> client_of;
  std::map<std::uint64_t, std::uint64_t> cells_of;  // that entered

 private:
  WaitingPlaces places_;
};

TEST(ClientTurns, OneClientsRequestsGoInOrder) {
  Line line;
  line.come(7, 1000, 5);
  EXPECT_EQ(line.turns.clients(), 1U);
  EXPECT_EQ(line.enter(3), (List{0, 1, 2}));
  line.come(7, 1);
  EXPECT_EQ(line.enter(9), (List{3, 4, 5}));
  EXPECT_EQ(line.turns.size(), 0U);
  EXPECT_EQ(line.turns.clients(), 0U);
  EXPECT_TRUE(line.enter(1).empty());
}

TEST(ClientTurns, ANewcomerIsNotBehindAFlood) {
  Line line;
  line.come(1, 20, 8000);
  line.enter(100);
  const std::uint32_t lonely = line.come(2, 20);
  std::uint32_t before_it = 0;
  while (line.enter(1).front() != lonely) ++before_it;
  EXPECT_LE(before_it, 3U);
}

TEST(ClientTurns, CountsCellsAndNotRequests) {
  Line line;
  line.come(1, 500, 100);
  line.come(2, 7, 5000);
  line.come(3, 60, 500);
  line.enter(1000);
  const double most = 500 + 64;  // the largest request and what a round brings
  EXPECT_NEAR(static_cast<double>(line.cells_of[1]), static_cast<double>(line.cells_of[2]), most);
  EXPECT_NEAR(static_cast<double>(line.cells_of[3]), static_cast<double>(line.cells_of[2]), most);
  EXPECT_GT(line.cells_of[1], 4000U);
}

TEST(ClientTurns, WhoWasAwayHasSavedNothingUp) {
  Line line;
  line.come(1, 10, 10'000);
  line.come(2, 10);
  line.enter(5000);
  EXPECT_EQ(line.cells_of[2], 10U);
  line.come(2, 10, 5000);
  line.cells_of.clear();
  line.enter(1000);
  EXPECT_NEAR(static_cast<double>(line.cells_of[1]), static_cast<double>(line.cells_of[2]), 100.0);
}

// Nor has who was alone to pay for that.
TEST(ClientTurns, WhoWasAloneOwesNothing) {
  Line line;
  line.come(1, 100, 1000);
  line.enter(500);
  line.come(2, 100, 1000);
  line.cells_of.clear();
  line.enter(200);
  EXPECT_NEAR(static_cast<double>(line.cells_of[1]), static_cast<double>(line.cells_of[2]), 200.0);
}

TEST(ClientTurns, WhoeverComesMeanwhileStarvesNobody) {
  Line line;
  const std::uint32_t patient = line.come(1, 400);
  std::uint64_t stranger = 2;
  line.come(stranger++, 30);
  std::uint32_t before_it = 0;
  for (; before_it < 1000; ++before_it) {
    line.come(stranger++, 30);  // as many come as go, each another client
    if (line.enter(1).front() == patient) break;
  }
  EXPECT_LE(before_it, 30U);
}

TEST(ClientTurns, WhoIsPassedByIsNextInTheWalkAfter) {
  Line line;
  const std::uint32_t large = line.come(1, 10), later = line.come(1, 5);
  const std::uint32_t other = line.come(2, 10);
  const auto small = [&](std::uint32_t request) { return request != large; };
  EXPECT_EQ(line.enter(9, small), (List{later, other}));
  line.come(2, 10);
  EXPECT_EQ(line.enter(1), (List{large}));
}

TEST(ClientTurns, TheWalkEndsWhenAllWerePassedBy) {
  Line line;
  for (std::uint64_t client = 1; client <= 3; ++client) line.come(client, 40, 2);
  List asked;
  const auto none = [&](std::uint32_t request) { return asked.push_back(request), false; };
  EXPECT_TRUE(line.enter(9, none).empty());
  EXPECT_EQ(asked.size(), 6U);
  EXPECT_EQ(line.enter(9).size(), 6U);
}

// Against the same kept plainly: each client's order, and no two of those who wait all the time are further
// apart than a round and the largest request.
TEST(ClientTurns, AnythingMayHappenInBetween) {
  constexpr std::uint32_t kLargest = 90;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    Line line;
    std::map<std::uint64_t, std::deque<std::uint32_t>> waiting;
    for (std::uint64_t client = 1; client <= 2; ++client) line.come(client, 1 + below(kLargest), 2000);
    for (const auto& [request, client] : line.client_of) waiting[client].push_back(request);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t client = 3 + below(5);
      std::deque<std::uint32_t>& of = waiting[client];
      if (below(3) == 0) {
        of.push_back(line.come(client, 1 + below(kLargest)));
      } else if (below(6) == 0 && !of.empty()) {
        const auto gone = of.begin() + below(static_cast<std::uint32_t>(of.size()));
        line.go(*gone);
        of.erase(gone);
      } else {
        const auto fits = [&](std::uint32_t) { return below(4) != 0; };
        for (const std::uint32_t request : line.enter(1 + below(4), fits)) {
          std::deque<std::uint32_t>& theirs = waiting[line.client_of[request]];
          theirs.erase(std::find(theirs.begin(), theirs.end(), request));
        }
      }
      std::size_t all = 0, clients = 0;
      for (const auto& [id, requests] : waiting) all += requests.size(), clients += requests.empty() ? 0 : 1;
      ASSERT_EQ(line.turns.size(), all) << "seed " << seed;
      ASSERT_EQ(line.turns.clients(), clients) << "seed " << seed;
      ASSERT_NEAR(static_cast<double>(line.cells_of[1]), static_cast<double>(line.cells_of[2]),
                  2 * (kLargest + 32.0))
          << "seed " << seed;
    }
    for (auto& [client, requests] : waiting) {
      for (const std::uint32_t request : requests) line.go(request);
    }
    EXPECT_EQ(line.turns.clients(), 0U);
  }
}

}  // namespace
}  // namespace volvox
