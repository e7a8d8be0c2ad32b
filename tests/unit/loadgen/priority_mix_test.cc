#include "loadgen/requests/priority_mix.h"

#include <map>

#include <gtest/gtest.h>

namespace volvox {
namespace {

std::map<WirePriority, int> draws(const PriorityMix& mix) {
  std::map<WirePriority, int> counts;
  for (std::uint64_t id = 1; id <= 10'000; ++id) ++counts[mix.draw(id)];
  return counts;
}

TEST(PriorityMix, OneNameIsAllThereIs) {
  EXPECT_EQ(draws(parse_priority_mix("low").value()),
            (std::map<WirePriority, int>{{WirePriority::kLow, 10'000}}));
}

TEST(PriorityMix, WeightsSayHowOftenEachComes) {
  auto counts = draws(parse_priority_mix("high=1,normal=2.5,low=1.5").value());
  EXPECT_NEAR(counts[WirePriority::kHigh], 2000, 200);
  EXPECT_NEAR(counts[WirePriority::kNormal], 5000, 200);
  EXPECT_NEAR(counts[WirePriority::kLow], 3000, 200);
}

TEST(PriorityMix, NonsenseIsNamed) {
  for (const char* text :
       {"", "urgent", "high=", "high=x", "high=-1", "high=nan", "high=1,,low=1", "high=0"}) {
    const auto mix = parse_priority_mix(text);
    ASSERT_FALSE(mix) << text;
    EXPECT_EQ(mix.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace volvox
