#include "device/task_ring.h"

#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::microseconds;

TEST(TaskRing, IsBounded) {
  TaskRing<int> ring(3);
  for (int i = 0; i < 4; ++i) {
    int* entry = ring.next_free();
    ASSERT_NE(entry, nullptr);
    *entry = i;
    ring.push();
  }
  EXPECT_EQ(ring.next_free(), nullptr);
  EXPECT_EQ(*ring.await(microseconds(0)), 0);
  EXPECT_EQ(*ring.await(microseconds(0)), 0);
  ring.pop();
  EXPECT_EQ(*ring.await(microseconds(0)), 1);
  EXPECT_NE(ring.next_free(), nullptr);
}

TEST(TaskRing, WhatIsNotPushedIsNotThere) {
  TaskRing<int> ring(2);
  *ring.next_free() = 1;
  *ring.next_free() = 2;
  ring.push();
  EXPECT_EQ(*ring.await(microseconds(0)), 2);
}

TEST(TaskRing, KeepsTheOrderBetweenThreads) {
  constexpr int kEntries = 20000;
  TaskRing<int> ring(8);
  std::thread consumer([&] {
    for (int i = 0; i < kEntries; ++i) {
      ASSERT_EQ(*ring.await(microseconds(i % 3)), i);
      ring.pop();
    }
  });
  std::mt19937 random(1);
  for (int i = 0; i < kEntries;) {
    int* entry = ring.next_free();
    if (entry == nullptr) {
      std::this_thread::yield();
      continue;
    }
    *entry = i++;
    ring.push();
    if (random() % 500 == 0) std::this_thread::sleep_for(microseconds(60));
  }
  consumer.join();
}

TEST(TaskRing, WhatWasPushedQuietlyIsThereForWhoIsWoken) {
  TaskRing<int> ring(2);
  std::thread consumer([&] { EXPECT_EQ(*ring.await(microseconds(1)), 7); });
  while (!ring.consumer_sleeps()) std::this_thread::yield();
  *ring.next_free() = 7;
  ring.push_quietly();
  ring.wake_consumer();
  consumer.join();
}

TEST(TaskRing, CloseWakesASleeper) {
  TaskRing<int> ring(2);
  std::thread consumer([&] { EXPECT_EQ(ring.await(microseconds(1)), nullptr); });
  while (!ring.consumer_sleeps()) std::this_thread::yield();
  ring.close();
  consumer.join();
}

}  // namespace
}  // namespace volvox
