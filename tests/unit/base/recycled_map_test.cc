#include "base/recycled_map.h"

#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(RecycledMap, HoldsWhatAMapHolds) {
  RecycledMap<int> map;
  std::map<std::uint64_t, int> wanted;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t key = random() % 3000;
    if (random() % 2 == 0) {
      const auto [entry, is_new] = map.try_emplace(key);
      ASSERT_EQ(is_new, !wanted.contains(key));
      ASSERT_EQ(entry->second, is_new ? 0 : wanted[key]);
      entry->second = wanted[key] = i;
    } else if (const auto entry = map.find(key); entry != map.end()) {
      map.erase(entry);
      ASSERT_EQ(wanted.erase(key), 1U);
    } else {
      ASSERT_FALSE(wanted.contains(key));
    }
    ASSERT_EQ(map.size(), wanted.size());
  }
  for (const auto& [key, value] : map) EXPECT_EQ(wanted.at(key), value);
}

TEST(RecycledMap, LetsGoOfWhatWasErased) {
  RecycledMap<std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  for (std::uint64_t key = 0; key < 100; ++key) map[key] = value;
  EXPECT_EQ(value.use_count(), 101);
  while (!map.empty()) map.erase(map.begin());
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_EQ(map[7], nullptr);
}

}  // namespace
}  // namespace volvox
