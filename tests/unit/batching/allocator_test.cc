#include <map>
#include <random>

#include <gtest/gtest.h>

#include "batching/range_allocator.h"

namespace volvox {
namespace {

TEST(RangeAllocator, HandsOutEverySlotOnce) {
  RangeAllocator pool(2, 130);
  EXPECT_EQ(pool.capacity(), 128U);
  std::vector<bool> seen(130, false);
  for (int i = 0; i < 64; ++i) {
    const auto base = pool.allocate(2);
    ASSERT_TRUE(base.has_value());
    for (std::uint32_t s : {*base, *base + 1}) {
      EXPECT_GE(s, 2U);
      EXPECT_FALSE(seen.at(s));
      seen[s] = true;
    }
  }
  EXPECT_EQ(pool.used(), 128U);
  EXPECT_FALSE(pool.allocate(1).has_value());
}

TEST(RangeAllocator, GivesSmallRangesBackToLargeRequests) {
  RangeAllocator pool(0, 96);
  std::vector<std::uint32_t> bases;
  for (int i = 0; i < 48; ++i) bases.push_back(*pool.allocate(2));
  for (int i = 0; i < 47; ++i) pool.release(bases[static_cast<std::size_t>(i)], 2);
  EXPECT_TRUE(pool.allocate(90).has_value());
}

TEST(RangeAllocator, AlwaysFitsWhatFitsAnEmptyPool) {
  RangeAllocator pool(2, 11);
  const auto a = pool.allocate(4);
  const auto b = pool.allocate(5);
  ASSERT_TRUE(a && b);
  pool.release(*a, 4);
  pool.release(*b, 5);
  ASSERT_TRUE(pool.allocate(5).has_value());
  ASSERT_TRUE(pool.allocate(4).has_value());
}

TEST(RangeAllocator, NeverOverlapsUnderRandomUse) {
  std::mt19937_64 random(7);
  RangeAllocator pool(2, 700);
  std::map<std::uint32_t, std::uint32_t> held;
  std::vector<int> owner(700, 0);
  for (int step = 0; step < 50000; ++step) {
    if (random() % 2 == 0) {
      const auto count = static_cast<std::uint32_t>(1 + random() % (random() % 10 == 0 ? 150 : 8));
      const auto base = pool.allocate(count);
      if (!base) continue;
      ASSERT_LE(*base + count, 700U);
      for (std::uint32_t s = *base; s < *base + count; ++s) ASSERT_EQ(owner[s]++, 0);
      held[*base] = count;
    } else if (!held.empty()) {
      auto it = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
      for (std::uint32_t s = it->first; s < it->first + it->second; ++s) --owner[s];
      pool.release(it->first, it->second);
      held.erase(it);
    }
  }
}

}  // namespace
}  // namespace volvox
