#include "gpu/memory/input_arena.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/kernels/target.h"
#include "tests/unit/gpu/fake_driver.h"

namespace volvox::gpu {
namespace {

constexpr std::size_t kPage = 256;

class InputArenaTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<InputPages>> stage(const std::vector<std::byte>& bytes) {
    const InputBlock block{bytes, nullptr};
    return arena_->stage({&block, 1}, TimePoint{});  // so little, so early, that it waits for neighbours
  }

  FakeDriver driver_;
  std::unique_ptr<InputArena> arena_ = InputArena::make(driver_, 4 * kPage).value();
};

TEST_F(InputArenaTest, NeighboursGoUpInOneCopy) {
  const std::vector<std::byte> one(kPage);
  std::vector<std::unique_ptr<InputPages>> pages;
  for (int i = 0; i < 4; ++i) pages.push_back(stage(one).value());
  EXPECT_TRUE(driver_.copies().empty());
  ASSERT_TRUE(arena_->order(driver_.make_stream().value()));
  EXPECT_EQ(driver_.copies(), std::vector<std::size_t>{4 * kPage});
  for (const auto& page : pages) EXPECT_TRUE(page->landed());
}

TEST_F(InputArenaTest, WhatWasGivenBackBeforeItsCopyIsFreeAgain) {
  const std::vector<std::byte> all(4 * kPage);
  ASSERT_TRUE(stage(all));  // and given back at once: nobody waits for it
  EXPECT_TRUE(driver_.copies().empty());
  const auto full = stage(all);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kOverloaded);
  EXPECT_TRUE(stage(all)) << "nothing is in use";
}

TEST_F(InputArenaTest, ACopyThatFailsIsMadeWithTheNext) {
  const std::vector<std::byte> first(kPage, std::byte{1}), second(kPage, std::byte{2});
  const StreamId stream = driver_.make_stream().value();
  auto one = stage(first);
  ASSERT_TRUE(one);
  driver_.fail_copy();
  EXPECT_FALSE(arena_->order(stream));
  auto two = stage(second);
  ASSERT_TRUE(two);
  ASSERT_TRUE(arena_->order(stream));
  ASSERT_TRUE(driver_.synchronise(stream));
  ASSERT_TRUE((*one)->landed());
  EXPECT_EQ(std::memcmp(at<const std::byte>((*one)->addresses()[0]), first.data(), kPage), 0);
  EXPECT_EQ(std::memcmp(at<const std::byte>((*two)->addresses()[0]), second.data(), kPage), 0);
}

}  // namespace
}  // namespace volvox::gpu
