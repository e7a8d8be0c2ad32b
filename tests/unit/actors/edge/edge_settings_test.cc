#include "actors/edge/edge_settings.h"

#include <thread>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(PartsAtOnce, AreAsConfiguredOrByTheMachine) {
  ServeConfig config;
  EXPECT_GE(parts_at_once(config), 640U);
  EXPECT_EQ(parts_at_once(config) % 640, 0U);
  EXPECT_GE(parts_at_once(config) / 640, std::thread::hardware_concurrency());
  config.limits.max_parts_at_once = 7;
  EXPECT_EQ(parts_at_once(config), 7U);
}

TEST(PartsAtOnce, FillTwoBatchesOfEachDevice) {
  ServeConfig config;
  config.batching.max_batch = 65'536;
  config.device.count = 3;
  EXPECT_EQ(parts_at_once(config), 2U * 3 * 65'536);
}

}  // namespace
}  // namespace volvox
