#include <algorithm>
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
  EXPECT_EQ(pool.reserved(), 128U);
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

TEST(RangeAllocator, WhatWasPromisedCanAlwaysBeTaken) {
  RangeAllocator pool(2, 34);
  const auto range = pool.allocate(10);
  ASSERT_TRUE(range && pool.promise(22));
  EXPECT_FALSE(pool.promise(1));
  EXPECT_FALSE(pool.allocate(1).has_value());
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < 22; ++i) taken.push_back(pool.take());
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end());
  for (std::uint32_t slot : taken) EXPECT_TRUE(slot < *range || slot >= *range + 10);
  for (std::uint32_t slot : taken) pool.give_back(slot);
  pool.release_promise(22);
  EXPECT_TRUE(pool.allocate(20).has_value());
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
