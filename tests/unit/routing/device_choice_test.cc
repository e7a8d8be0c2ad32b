#include "routing/device_choice.h"

#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::microseconds;

bool any(std::uint32_t) {
  return true;
}

TEST(DeviceChoice, TheLeastWorkThenTheFewestRequestsThenTheFirst) {
  DeviceChoice choice(3);
  EXPECT_EQ(choice.choose(any), 0U);
  choice.enter(0, microseconds(10));
  EXPECT_EQ(choice.choose(any), 1U);
  choice.enter(1, microseconds(5));
  choice.enter(2, microseconds(7));
  EXPECT_EQ(choice.in_order(any), (std::vector<std::uint32_t>{1, 2, 0}));
  choice.enter(1, microseconds(2));
  EXPECT_EQ(choice.choose(any), 2U) << "as much work, fewer requests";
  choice.leave(0, microseconds(10));
  EXPECT_EQ(choice.choose(any), 0U);
}

TEST(DeviceChoice, OnlyUsableOnes) {
  DeviceChoice choice(3);
  choice.enter(2, microseconds(10));
  EXPECT_EQ(choice.choose([](std::uint32_t device) { return device == 2; }), 2U);
  EXPECT_EQ(choice.in_order([](std::uint32_t device) { return device != 1; }),
            (std::vector<std::uint32_t>{0, 2}));
  EXPECT_FALSE(choice.choose([](std::uint32_t) { return false; }));
}

TEST(DeviceChoice, AMoveMustGainMoreThanTheCopyCosts) {
  DeviceChoice choice(2);
  choice.enter(0, microseconds(100));
  EXPECT_TRUE(choice.worth_moving(0, 1, microseconds(99)));
  EXPECT_FALSE(choice.worth_moving(0, 1, microseconds(100)));
  EXPECT_FALSE(choice.worth_moving(1, 0, microseconds(0)));
}

// A request never goes to a device with more than the mean to do, however they come and go.
TEST(DeviceChoice, KeepsTheDevicesEqual) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto devices = static_cast<std::uint32_t>(1 + random() % 8);
    DeviceChoice choice(devices);
    std::vector<std::pair<std::uint32_t, Duration>> live;
    for (int i = 0; i < 500; ++i) {
      if (!live.empty() && random() % 5 < 2) {
        const std::size_t which = random() % live.size();
        choice.leave(live[which].first, live[which].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const std::uint32_t chosen = choice.choose(any).value();
      Duration there{0}, all{0};
      for (const auto& [device, cost] : live) {
        all += cost;
        if (device == chosen) there += cost;
      }
      EXPECT_LE(there, all / devices) << "seed " << seed;
      live.emplace_back(chosen, microseconds(1 + random() % 1000));
      choice.enter(live.back().first, live.back().second);
    }
  }
}

}  // namespace
}  // namespace volvox
