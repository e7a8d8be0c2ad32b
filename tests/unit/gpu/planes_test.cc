#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/memory/gpu_planes.h"
#include "gpu/memory/slot_mover.h"
#include "tests/unit/gpu/fake_driver.h"

// Copies of states in 16 bits: whoever writes a row writes both.
namespace volvox::gpu {
namespace {

class Shadows : public ::testing::Test {
 protected:
  GpuPlanes planes() {
    const StateKind kinds[] = {{"narrow", {3}, DType::kF32, 0.5},
                               {"wide", {2, 64}, DType::kF32, 0.3},
                               {"count", {64}, DType::kI32, 7}};
    return GpuPlanes::make(*driver_, stream_, kinds, 5, ElementType::kBf16).value();
  }
  // The numbers of a row, and their copy.
  static void expect_copied(const GpuPlane& plane, std::uint32_t slot, const std::vector<float>& want) {
    const auto* row = at<const std::byte>(plane.address + std::uint64_t{slot} * plane.stride_bytes);
    for (std::size_t k = 0; k < want.size(); ++k) {
      float number = 0;
      std::uint16_t bits = 0;
      std::memcpy(&number, row + 4 * k, sizeof number);
      std::memcpy(&bits, row + plane.shadow + 2 * k, sizeof bits);
      ASSERT_EQ(number, want[k]) << k;
      ASSERT_EQ(bits, to_bfloat16(want[k])) << k;
    }
  }
  static std::vector<float> numbers() {
    std::vector<float> all(128);
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = 1.0F / static_cast<float>(k + 1);
    return all;
  }
  // A slot's states as they are put away.
  static std::vector<std::byte> packed(const std::vector<float>& wide) {
    std::vector<std::byte> bytes(12);
    const auto from = std::as_bytes(std::span(wide));
    bytes.insert(bytes.end(), from.begin(), from.end());
    bytes.resize(bytes.size() + 64 * 4);
    return bytes;
  }

  const std::shared_ptr<FakeDriver> driver_ = std::make_shared<FakeDriver>();
  const StreamId stream_ = driver_->make_stream().value();
};

TEST_F(Shadows, WideStatesOfNumbersHaveThem) {
  const GpuPlanes made = planes();
  EXPECT_EQ(made.find("narrow")->shadow, 0U);
  EXPECT_EQ(made.find("count")->shadow, 0U);
  EXPECT_EQ(made.find("wide")->shadow, 128U * 4);
  EXPECT_EQ(made.find("wide")->stride_bytes, 128U * 6);
  ASSERT_TRUE(driver_->synchronise(stream_));
  for (std::uint32_t slot = 0; slot < kReservedSlots; ++slot)
    expect_copied(*made.find("wide"), slot, std::vector<float>(128, 0.3F));
}

TEST_F(Shadows, AreMadeOfStatesThatComeBack) {
  const GpuPlanes made = planes();
  const auto mover = SlotMover::make(driver_).value();
  ASSERT_TRUE(mover->reserve(made.staged_bytes()));
  const std::vector<std::byte> states = packed(numbers());
  ASSERT_EQ(states.size(), made.packed_bytes());
  ASSERT_TRUE(mover->write(made, 3, states));
  expect_copied(*made.find("wide"), 3, numbers());
  std::vector<std::byte> again(states.size());
  ASSERT_TRUE(mover->read(made, 3, again));
  EXPECT_EQ(again, states);
}

TEST_F(Shadows, GoAlongWhenAStateIsCopied) {
  const GpuPlanes made = planes(), other = planes();
  const auto mover = SlotMover::make(driver_).value();
  ASSERT_TRUE(mover->reserve(made.staged_bytes()));
  ASSERT_TRUE(mover->write(made, 2, packed(numbers())));
  ASSERT_TRUE(other.copy(*driver_, stream_, made, 2, 4));
  ASSERT_TRUE(driver_->synchronise(stream_));
  expect_copied(*other.find("wide"), 4, numbers());
}

}  // namespace
}  // namespace volvox::gpu
