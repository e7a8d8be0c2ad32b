#include "install/installer.h"

#include <new>

#include <gmock/gmock.h>

#include "device/fake_device.h"
#include "tests/unit/base/failing_new.h"
#include "tests/unit/install/counter.h"

namespace volvox {
namespace {

using testing::HasSubstr;

TEST(Installer, NumbersAndMemoryOfAModelThatWentAreUsedAgain) {
  FakeDevice device;
  Installer installer({&device}, {.pool_bytes = 1 << 20});
  const auto a = installer.add(counter("a"), {});
  ASSERT_TRUE(a) << a.error().message;
  const std::uint64_t of_one = installer.pool_bytes();
  EXPECT_EQ(of_one, (*a)->pool_bytes);
  EXPECT_GT(of_one, 0U);
  const auto b = installer.add(counter("b"), {.weight = 3.0, .max_waiting = 7});
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ((*b)->id, 1U);
  EXPECT_EQ((*b)->parts.config.weight, 3.0);
  EXPECT_EQ((*b)->parts.config.max_waiting, 7U);
  EXPECT_EQ((*b)->parts.types[0].id, 1U);
  EXPECT_EQ((*b)->parts.types[0].model, 1U);
  installer.remove(**a);
  EXPECT_EQ(device.cell(0), nullptr);
  EXPECT_EQ(device.pool(0), nullptr);
  EXPECT_NE(device.cell(1), nullptr);
  const auto c = installer.add(counter("c"), {});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ((*c)->id, 0U);
  EXPECT_EQ((*c)->first_type, 0U);
  EXPECT_NE((*c)->serial, (*a)->serial);
  installer.remove(**b);
  installer.remove(**c);
  EXPECT_EQ(installer.pool_bytes(), 0U);
}

TEST(Installer, RefusesWhatItsBudgetCannotHoldAndLeavesNothingBehind) {
  FakeDevice device;
  // 8 requests with two slots of 64 KiB each: 1 MiB, and two slots more.
  Installer installer({&device}, {.pool_bytes = 3 << 20});
  const auto wide = counter("wide", 16 * 1024);
  const auto first = installer.add(wide, {.pool_bytes = 1 << 20});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GE((*first)->parts.pools[0].slots, 16U) << "a batch, although the share buys less";
  const auto second = installer.add(wide, {});
  ASSERT_TRUE(second) << second.error().message;
  const std::uint64_t used = installer.pool_bytes();
  EXPECT_LE(used, 3U << 20);
  const auto third = installer.add(wide, {});
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().message, HasSubstr("model 'wide': out of budget"));
  EXPECT_EQ(installer.pool_bytes(), used);
  EXPECT_EQ(device.pool(2), nullptr);
  installer.remove(**first);
  EXPECT_TRUE(installer.add(wide, {}));
}

TEST(Installer, BoundsTheNumberOfModels) {
  FakeDevice device;
  Installer installer({&device}, {.max_models = 2, .max_types = 8});
  EXPECT_TRUE(installer.add(counter("a"), {}));
  const auto b = installer.add(counter("b"), {});
  ASSERT_TRUE(b);
  const auto c = installer.add(counter("c"), {});
  ASSERT_FALSE(c);
  EXPECT_THAT(c.error().message, HasSubstr("unload one first"));
  installer.remove(**b);
  EXPECT_TRUE(installer.add(counter("c"), {}));
}

TEST(Installer, AModelThatDoesNotCompileLeavesNothingBehind) {
  FakeDevice device;
  Installer installer({&device}, {});
  auto broken = std::make_shared<Model>(*counter("broken"));
  broken->pools = {{}};  // lacks the cell's state
  const auto refused = installer.add(broken, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("model 'broken': "));
  EXPECT_EQ(device.pool(0), nullptr);
  EXPECT_EQ(installer.pool_bytes(), 0U);
  const auto good = installer.add(counter("good"), {});
  ASSERT_TRUE(good);
  EXPECT_EQ((*good)->id, 0U);
}

TEST(Installer, AModelThatFindsNoMemoryLeavesNothingBehind) {
  if (!test::FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  FakeDevice device;
  Installer installer({&device}, {});
  const auto model = counter("counter");
  int failures = 0;
  for (bool installed = false; !installed; ++failures) {
    ASSERT_LT(failures, 10'000);
    try {
      const test::FailingNew failing(failures);
      const auto made = installer.add(model, {});
      installed = made && !test::FailingNew::failed();
      if (made) installer.remove(**made);
    } catch (const std::bad_alloc&) {
    }
    ASSERT_EQ(installer.pool_bytes(), 0U) << failures;
    ASSERT_EQ(device.pool(0), nullptr) << failures;
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ((*installer.add(model, {}))->id, 0U) << "no number is lost";
}

TEST(Installer, EveryDeviceGetsEveryModelOrNoneDoes) {
  FakeDevice a, b;
  Installer installer({&a, &b}, {});
  const auto good = installer.add(counter("good"), {});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(a.pool(0)->slots(), b.pool(0)->slots());
  FakeDevice::Options coarse;
  coarse.config.sizes = {64};
  FakeDevice fine, other(coarse);
  Installer unlike({&fine, &other}, {});
  const auto refused = unlike.add(counter("second"), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("batches of other sizes"));
  EXPECT_EQ(fine.pool(0), nullptr);
  EXPECT_EQ(other.pool(0), nullptr);
  installer.remove(**good);
  EXPECT_EQ(b.pool(0), nullptr);
}

TEST(IdRanges, GivesTheLowestNumbersThatAreFree) {
  IdRanges ids;
  EXPECT_EQ(ids.take(3), 0U);
  EXPECT_EQ(ids.take(2), 3U);
  EXPECT_EQ(ids.take(1), 5U);
  ids.give_back(3, 2);
  EXPECT_EQ(ids.take(3), 6U) << "the gap is too short";
  EXPECT_EQ(ids.take(1), 3U);
  EXPECT_EQ(ids.take(1), 4U);
  ids.give_back(6, 3);
  EXPECT_EQ(ids.take(4), 6U) << "past the end as far as needed";
  EXPECT_EQ(ids.take(0), 0U);
}

}  // namespace
}  // namespace volvox
