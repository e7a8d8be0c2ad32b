#include "cpu/cells/value_places.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace volvox::cpu {
namespace {

void expect_apart(const std::vector<ValueLife>& values, const ValuePlaces& places) {
  ASSERT_EQ(places.at.size(), values.size());
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (values[a].floats == 0) continue;
    EXPECT_LE(places.at[a] + values[a].floats, places.floats);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = values[a].from <= values[b].to && values[b].from <= values[a].to;
      const bool overlap =
          places.at[a] < places.at[b] + values[b].floats && places.at[b] < places.at[a] + values[a].floats;
      EXPECT_FALSE(together && overlap) << a << " and " << b;
    }
  }
}

TEST(ValuePlaces, AChainTakesTurnsInTwoPlaces) {
  std::vector<ValueLife> values;
  for (std::size_t i = 0; i < 10; ++i) values.push_back({16, i, i + 1});
  const ValuePlaces places = place_values(values);
  expect_apart(values, places);
  EXPECT_EQ(places.floats, 32U);
}

TEST(ValuePlaces, WhatIsReadLaterStaysWhereItIs) {
  const std::vector<ValueLife> values{{16, 0, 9}, {32, 1, 2}, {16, 3, 4}, {16, 4, 5}, {64, 6, 7}};
  const ValuePlaces places = place_values(values);
  expect_apart(values, places);
  EXPECT_EQ(places.at[2], places.at[1]) << "what is free is used again";
  EXPECT_EQ(places.floats, 80U) << "the last free place grows";
}

TEST(ValuePlaces, WhatLiesElsewhereTakesNone) {
  const std::vector<ValueLife> values{{0, 0, 5}, {16, 1, 1}, {0, 2, 3}};
  EXPECT_EQ(place_values(values).floats, 16U);
  EXPECT_EQ(place_values({}).floats, 0U);
}

TEST(ValuePlaces, RandomLivesNeverMeet) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ValueLife> values(1 + random() % 40);
    std::size_t all = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = {random() % 5 * 16, i, i + random() % 8};
      all += values[i].floats;
    }
    std::shuffle(values.begin(), values.end(), random);
    const ValuePlaces places = place_values(values);
    expect_apart(values, places);
    EXPECT_LE(places.floats, all);
  }
}

}  // namespace
}  // namespace volvox::cpu
