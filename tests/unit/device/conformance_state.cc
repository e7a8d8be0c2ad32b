// States between a device and the host: part of what every device must do.

#include <gmock/gmock.h>

#include "tests/unit/device/conformance.h"

namespace volvox {

using ::testing::ElementsAre;

namespace {

constexpr PoolId kStatePool = 0;

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
  const Status read_back = device_->read_slot(kStatePool, 3, copy);
  ASSERT_TRUE(read_back) << read_back.error().message;
  ASSERT_TRUE(device_->write_slot(kStatePool, 9, copy));
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

TEST_P(DeviceConformance, AStateGoesFromOneDeviceToAnother) {
  const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
  auto source = GetParam().make();
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE((*source)->add_pool(kStatePool, kinds, 20));
  const std::uint64_t state = hash_of({5, 6});
  ASSERT_TRUE((*source)->write_slot(kStatePool, 7, std::as_bytes(std::span(&state, 1))));
  auto queue = open();
  ASSERT_TRUE(queue->copy_state(**source, std::vector<SlotCopy>{{kStatePool, 7, 9}}, 0));
  const DeviceAddress out = results<std::uint64_t>(1);
  Task task = cohort(1, 0, 1);
  task.bindings = {lane(2, stage(std::vector<std::int32_t>{7}), 0, 1)};
  task.bindings[0].gathers[0].initial = 9;
  task.changes = {{0, RowChange::kBind, 0}};
  task.emits = {{0, 0, out}};
  run(*queue, task);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of({5, 6, 7})));
}

TEST_P(DeviceConformance, StatesOfSeveralKindsLieSideBySide) {
  const std::vector<StateKind> kinds = {{"h", {3}, DType::kF32, 0.5}, {"token", {}, DType::kI32, 7}};
  constexpr PoolId kMixed = 5;
  ASSERT_TRUE(device_->add_pool(kMixed, kinds, 6));
  struct State {
    float h[3];
    std::int32_t token;
    bool operator==(const State&) const = default;
  };
  ASSERT_EQ(sizeof(State), state_bytes(kinds));
  const auto bytes = [](State& state) { return std::as_writable_bytes(std::span(&state, 1)); };
  State one{{1, 2, 3}, 4}, two{{5, 6, 7}, 8}, found{};
  ASSERT_TRUE(device_->write_slot(kMixed, 3, bytes(one)));
  ASSERT_TRUE(device_->write_slot(kMixed, 4, bytes(two)));
  ASSERT_TRUE(device_->read_slot(kMixed, 3, bytes(found)));
  EXPECT_EQ(found, one);
  ASSERT_TRUE(device_->read_slot(kMixed, 4, bytes(found)));
  EXPECT_EQ(found, two);
  ASSERT_TRUE(device_->read_slot(kMixed, kInitialSlot, bytes(found)));
  EXPECT_EQ(found, (State{{0.5, 0.5, 0.5}, 7}));
}

TEST_P(DeviceConformance, RefusesToCopyStatesThatAreNotThere) {
  std::vector<std::byte> copy(sizeof(std::uint64_t));
  EXPECT_FALSE(device_->read_slot(99, 2, copy));
  EXPECT_FALSE(device_->read_slot(kStatePool, 20, copy));
  EXPECT_FALSE(device_->write_slot(kStatePool, 20, copy));
  copy.pop_back();
  EXPECT_FALSE(device_->read_slot(kStatePool, 2, copy));
  EXPECT_FALSE(device_->write_slot(kStatePool, 2, copy));
}

}  // namespace volvox
