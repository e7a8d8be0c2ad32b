#include "actors/edge/detours.h"

#include <memory>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(Detours, OnlyWhatIsLargeBegins) {
  const auto detours = std::make_shared<Detours>();
  EXPECT_FALSE(detours->take(1, false));
  EXPECT_TRUE(detours->take(1, true));
  EXPECT_FALSE(detours->take(1, false)) << "that one has arrived";
}

TEST(Detours, WhatFollowsOnTheSameConnectionGoesTheSameWay) {
  const auto detours = std::make_shared<Detours>();
  Detour large = detours->take(1, true);
  Detour small = detours->take(1, false);
  EXPECT_TRUE(small);
  EXPECT_FALSE(detours->take(2, false)) << "others have nothing to follow";
  large.reset();
  Detour next = detours->take(1, false);
  EXPECT_TRUE(next) << "it must not overtake the one before";
  small.reset();
  next.reset();
  EXPECT_FALSE(detours->take(1, false));
}

TEST(Detours, OfOneConnectionKeepNoOther) {
  const auto detours = std::make_shared<Detours>();
  const Detour first = detours->take(1, true), again = detours->take(1, true);
  {
    const Detour second = detours->take(2, true);
    EXPECT_TRUE(detours->take(2, false));
  }
  EXPECT_FALSE(detours->take(2, false));
  EXPECT_TRUE(detours->take(1, false));
}

}  // namespace
}  // namespace volvox
