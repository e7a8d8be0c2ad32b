// States between a device and the host: part of what every device must do.

#include <gmock/gmock.h>

#include "tests/unit/device/conformance.h"

namespace volvox {

using ::testing::ElementsAre;

namespace {

constexpr PoolId kPool = 0;

}  // namespace

TEST_P(DeviceConformance, AStateGoesToTheHostAndComesBack) {
  const std::vector<std::int32_t> a{5, 6}, b{7, 8};
  auto queue = open();
  Task first = cohort(1, 0, 1);
  first.bindings = {lane(2, stage(a), 0, 2)};
  first.changes = {{0, RowChange::kBind, 0}};
  run(*queue, first);
  run(*queue, cohort(2, 1, 1));  // a's state is in slot 3
  std::vector<std::byte> copy(sizeof(std::uint64_t));
  const Status read_back = device_->read_slot(kPool, 3, copy);
  if (!read_back && read_back.error().code == ErrorCode::kUnavailable)
    GTEST_SKIP() << read_back.error().message;
  ASSERT_TRUE(read_back) << read_back.error().message;
  ASSERT_TRUE(device_->write_slot(kPool, 9, copy));
  const DeviceAddress out = results<std::uint64_t>(1);
  Task third = cohort(3, 2, 1);
  third.bindings = {lane(10, stage(b), 2, 2)};
  third.bindings[0].gathers[0].initial = 9;  // b goes on from there
  third.changes = {{0, RowChange::kBind, 0}};
  run(*queue, third);
  Task fourth = cohort(4, 3, 1);
  fourth.emits = {{0, 0, out}};
  run(*queue, fourth);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of({5, 6, 7, 8})));
}

TEST_P(DeviceConformance, RefusesToCopyStatesThatAreNotThere) {
  std::vector<std::byte> copy(sizeof(std::uint64_t));
  EXPECT_FALSE(device_->read_slot(99, 2, copy));
  EXPECT_FALSE(device_->read_slot(kPool, 20, copy));
  EXPECT_FALSE(device_->write_slot(kPool, 20, copy));
  copy.pop_back();
  EXPECT_FALSE(device_->read_slot(kPool, 2, copy));
  EXPECT_FALSE(device_->write_slot(kPool, 2, copy));
}

}  // namespace volvox
