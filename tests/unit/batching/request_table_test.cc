#include "batching/request_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

Request tagged(std::uint64_t tag) {
  Request request;
  request.tag = tag;
  return request;
}

// Bursts come and go, and the table with them: what lives keeps its number, and what has ended is found no
// more, even when its number is beyond the table's end.
TEST(RequestTable, ShrinksAfterABurst) {
  RequestTable table;
  std::map<std::uint32_t, std::pair<RequestId, std::uint64_t>> live;  // by number
  std::vector<RequestId> ended;
  std::mt19937 random(1);
  std::uint64_t tag = 0;
  std::uint32_t largest = 0;
  const auto add = [&] {
    const std::uint32_t index = table.add(tagged(++tag));
    ASSERT_TRUE(live.emplace(index, std::pair(table.id(index), tag)).second);
    largest = std::max(largest, table.size());
  };
  const auto remove = [&](std::uint32_t index) {
    ended.push_back(live.at(index).first);
    table.remove(index);
    live.erase(index);
  };
  for (int burst = 0; burst < 2; ++burst) {
    while (table.live() < 9000) add();
    while (table.live() > 40) {
      remove(std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()))->first);
    }
    ended.resize(std::min<std::size_t>(ended.size(), 20'000));
    for (int i = 0; i < 200'000; ++i) {  // a quiet while
      const std::uint32_t last = live.rbegin()->first;
      table.remove(last);
      live.erase(last);
      add();
    }
    EXPECT_LE(table.size(), 256U) << "after burst " << burst;
    ASSERT_EQ(table.live(), live.size());
    for (const auto& [index, one] : live) {
      ASSERT_EQ(table.find(one.first), &table[index]);
      ASSERT_TRUE(table.goes_on(one.first));
      ASSERT_EQ(table[index].request.tag, one.second);
    }
    for (const RequestId id : ended) {
      ASSERT_EQ(table.find(id), nullptr);
      ASSERT_FALSE(table.goes_on(id));
    }
  }
  EXPECT_GE(largest, 9000U);
}

TEST(RequestTable, TakesTheLowerHalfFirst) {
  RequestTable table;
  for (std::uint64_t i = 0; i < 128; ++i) table.add(tagged(i));
  for (std::uint32_t index : {3U, 100U, 70U, 50U}) table.remove(index);
  EXPECT_EQ(table.add(tagged(0)), 50U);
  EXPECT_EQ(table.add(tagged(0)), 3U);
  EXPECT_EQ(table.add(tagged(0)), 70U);
  EXPECT_EQ(table.add(tagged(0)), 100U);
  EXPECT_EQ(table.add(tagged(0)), 128U);
}

}  // namespace
}  // namespace volvox
