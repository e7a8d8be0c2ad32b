#include "base/index_pool.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(IndexPool, HoldsWhatIsInUse) {
  IndexPool<int> pool;
  std::map<std::uint32_t, std::pair<std::uint32_t, int>> wanted;  // generation and value, by index
  std::map<std::uint32_t, std::uint32_t> gone;                    // the last generation, by index
  std::mt19937 random(1);
  for (int i = 0; i < 30'000; ++i) {
    // By turns many come and many go.
    if (random() % 100 < (i / 3000 % 2 == 0 ? 70U : 30U)) {
      const std::uint32_t index = pool.take();
      ASSERT_FALSE(wanted.contains(index));
      ASSERT_EQ(pool[index], 0);
      pool[index] = i;
      wanted[index] = {pool.generation(index), i};
    } else if (!wanted.empty()) {
      const auto one = std::next(wanted.begin(), static_cast<std::ptrdiff_t>(random() % wanted.size()));
      gone[one->first] = one->second.first;
      pool.give_back(one->first);
      wanted.erase(one);
    }
    ASSERT_EQ(pool.used(), wanted.size());
  }
  for (std::uint32_t index = 0; index < pool.size(); ++index)
    ASSERT_EQ(pool.in_use(index), wanted.contains(index));
  std::uint32_t at = pool.used_from(0);
  for (const auto& [index, one] : wanted) {
    EXPECT_EQ(at, index);
    at = pool.used_from(at + 1);
    EXPECT_TRUE(pool.valid(index, one.first));
    EXPECT_EQ(pool[index], one.second);
  }
  EXPECT_EQ(at, kNoIndex);
  for (const auto& [index, generation] : gone) EXPECT_FALSE(pool.valid(index, generation));
}

struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  static inline int alive = 0;
};

TEST(IndexPool, TheMemoryOfABurstGoesWithIt) {
  IndexPool<Counted, 16> pool;
  const auto go = [&](const char* order, auto arrange) {
    std::vector<std::uint32_t> all;
    for (int i = 0; i < 10'000; ++i) all.push_back(pool.take());
    EXPECT_GE(Counted::alive, 10'000);
    arrange(all);
    for (std::uint32_t index : all) pool.give_back(index);
    EXPECT_LE(Counted::alive, 32) << order;
  };
  go("the first one first", [](auto&) {});
  go("the last one first", [](auto& all) { std::reverse(all.begin(), all.end()); });
  go("in any order", [](auto& all) { std::shuffle(all.begin(), all.end(), std::mt19937(1)); });
  EXPECT_EQ(pool.take(), 0U);
}

TEST(IndexPool, TakesTheLowestFirst) {
  IndexPool<int> pool;
  for (int i = 0; i < 1000; ++i) pool.take();
  for (std::uint32_t index : {900U, 70U, 3U}) pool.give_back(index);
  EXPECT_EQ(pool.take(), 3U);
  EXPECT_EQ(pool.take(), 70U);
  EXPECT_EQ(pool.take(), 900U);
  EXPECT_EQ(pool.take(), 1000U);
}

// What a record owned may take or give back others when it ends.
struct Ending {
  IndexPool<Ending>* pool = nullptr;
  Ending() = default;
  Ending(Ending&& other) noexcept : pool(std::exchange(other.pool, nullptr)) {}
  Ending& operator=(Ending&& other) noexcept {
    std::swap(pool, other.pool);
    return *this;
  }
  ~Ending() {
    if (pool != nullptr) taken = pool->take();
  }
  static inline std::uint32_t taken = kNoIndex;
};

TEST(IndexPool, ARecordsEndMayTakeAnother) {
  IndexPool<Ending> pool;
  const std::uint32_t first = pool.take();
  pool[first].pool = &pool;
  pool.give_back(first);
  EXPECT_EQ(Ending::taken, first) << "it was free by then";
  EXPECT_EQ(pool.used(), 1U);
}

}  // namespace
}  // namespace volvox
