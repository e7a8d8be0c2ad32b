#include "actors/system/shared_answer.h"

#include <atomic>
#include <latch>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;

std::atomic<std::int64_t> clock_ms{1'000};
TimePoint now() {
  return TimePoint(milliseconds(clock_ms));
}

TEST(SharedAnswer, IsGoodForAWhile) {
  int asked = 0;
  SharedAnswer<int> shared([&] { return ++asked; }, milliseconds(100), now);
  EXPECT_EQ(shared.get(), 1);
  clock_ms += 99;
  EXPECT_EQ(shared.get(), 1);
  clock_ms += 1;
  EXPECT_EQ(shared.get(), 2);
}

TEST(SharedAnswer, OneAsksForAll) {
  std::latch all_there(32);
  std::atomic<int> asked{0};
  SharedAnswer<int> shared(
      [&] {
        all_there.wait();
        return ++asked;
      },
      milliseconds(100), now);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 32; ++i) {
      threads.emplace_back([&] {
        all_there.count_down();
        EXPECT_EQ(shared.get(), 1);
      });
    }
  }
  EXPECT_EQ(asked, 1);
}

TEST(SharedAnswer, OneThatCannotBeKeptIsAskedAgain) {
  bool broken = true;
  struct Fragile {
    explicit Fragile(const bool* is_broken) : broken(is_broken) {}
    Fragile(const Fragile& other) : broken(other.broken) {
      if (*broken) throw std::bad_alloc();
    }
    Fragile(Fragile&&) noexcept = default;
    Fragile& operator=(Fragile&&) noexcept = default;
    ~Fragile() = default;
    const bool* broken;
  };
  SharedAnswer<Fragile> shared([&] { return Fragile(&broken); }, milliseconds(0), now);
  EXPECT_THROW(shared.get(), std::bad_alloc);
  broken = false;
  EXPECT_FALSE(*shared.get().broken);
}

TEST(SharedAnswer, AFailureIsAskedAgain) {
  bool broken = true;
  SharedAnswer<int> shared([&] { return broken ? throw std::runtime_error("broken") : 7; }, milliseconds(100),
                           now);
  EXPECT_THROW(shared.get(), std::runtime_error);
  broken = false;
  EXPECT_EQ(shared.get(), 7);
}

}  // namespace
}  // namespace volvox
