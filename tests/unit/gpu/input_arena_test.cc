#include "gpu/memory/input_arena.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
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

TEST_F(InputArenaTest, ManyThreadsBringTheirsAtOnce) {
  constexpr std::size_t kAll = 64 * kPage;
  const auto arena = InputArena::make(driver_, kAll).value();
  const StreamId stream = driver_.make_stream().value();
  std::atomic<int> right{0}, wrong{0};
  const auto bring = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 400; ++i) {
      const std::vector<std::byte> bytes(1 + random() % 1000, static_cast<std::byte>(random()));
      const InputBlock block{bytes, nullptr};
      const auto pages = arena->stage({&block, 1}, std::chrono::steady_clock::now());
      if (!pages || i % 3 == 0) continue;  // full for now, or given back before it was copied
      if (i % 3 == 1) {
        if (!arena->order(stream) || !driver_.synchronise(stream)) ++wrong;
      } else {
        while (!(*pages)->landed()) std::this_thread::yield();
      }
      const auto* there = at<const std::byte>((*pages)->addresses()[0]);
      ++(std::memcmp(there, bytes.data(), bytes.size()) == 0 ? right : wrong);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(bring, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 400);
  for (int i = 0; i < 2; ++i) {  // what is left is copied, and given back when somebody looks
    ASSERT_TRUE(arena->order(stream));
    ASSERT_TRUE(driver_.synchronise(stream));
  }
  EXPECT_EQ(arena->free_bytes(), kAll);
}

}  // namespace
}  // namespace volvox::gpu
