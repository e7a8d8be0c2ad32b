#include "device/planes.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

const std::vector<StateKind> kKinds = {
    {"h", {10}, DType::kF32, 0.5}, {"hash", {}, DType::kU64, 7}, {"wide", {1024}, DType::kF32, 0}};

template <class T>
T element(const Plane& plane, std::uint32_t slot, std::size_t i) {
  T value;
  std::memcpy(&value, plane.row(slot) + i * sizeof value, sizeof value);
  return value;
}

TEST(Planes, ReservedRowsHoldTheInitialValue) {
  auto planes = Planes::make(kKinds, 5);
  ASSERT_TRUE(planes) << planes.error().message;
  EXPECT_EQ(planes->slots(), 5U);
  ASSERT_EQ(planes->size(), 3U);
  for (std::uint32_t slot : {kInitialSlot, kSinkSlot}) {
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(element<float>((*planes)[0], slot, i), 0.5F);
    EXPECT_EQ(element<std::uint64_t>((*planes)[1], slot, 0), 7U);
  }
}

TEST(Planes, RowsAreAlignedAndDoNotShareCacheSets) {
  auto planes = Planes::make(kKinds, 5);
  ASSERT_TRUE(planes);
  for (std::size_t p = 0; p < planes->size(); ++p) {
    const Plane& plane = (*planes)[p];
    EXPECT_GE(plane.stride_bytes, plane.row_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plane.row(3)) % 64, 0U);
    EXPECT_NE(plane.stride_bytes % 4096, 0U);
  }
  EXPECT_EQ((*planes)[0].row_bytes, 40U);
  EXPECT_EQ((*planes)[2].row_bytes, 4096U);
  EXPECT_EQ(Planes::slot_bytes(kKinds), 64U + 64U + 4160U);
}

TEST(Planes, FindsByName) {
  auto planes = Planes::make(kKinds, 2);
  ASSERT_TRUE(planes);
  EXPECT_EQ(planes->find("hash"), 1U);
  EXPECT_FALSE(planes->find("c"));
}

TEST(Planes, CopiesAndPoisonsOneSlot) {
  auto a = Planes::make(kKinds, 4);
  auto b = Planes::make(kKinds, 4);
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  b->poison(3);
  b->copy(*a, kInitialSlot, 2);
  EXPECT_EQ(element<float>((*b)[0], 2, 9), 0.5F);
  EXPECT_EQ(element<std::uint64_t>((*b)[1], 2, 0), 7U);
  EXPECT_EQ(element<std::uint64_t>((*b)[1], 3, 0), ~std::uint64_t{0});
  const float poisoned = element<float>((*b)[0], 3, 0);
  EXPECT_NE(poisoned, poisoned);
}

TEST(Planes, RefusesWhatCannotBe) {
  EXPECT_FALSE(Planes::make(kKinds, 1));
  const std::vector<StateKind> negative = {{"h", {-3}, DType::kF32, 0}};
  EXPECT_FALSE(Planes::make(negative, 4));
  EXPECT_TRUE(Planes::make({}, 4));
}

}  // namespace
}  // namespace volvox
