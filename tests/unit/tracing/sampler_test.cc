#include "tracing/sampler.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr std::uint64_t kRandom = std::uint64_t{1} << 56;  // values of the bits that decide
const TimePoint kSecond{std::chrono::seconds(100)};
constexpr auto kMillisecond = std::chrono::milliseconds(1);

TEST(Sampler, ChoosesByTheLastBitsOfTheTraceAlone) {
  const TraceSampler quarter({0.25, 0, {}});
  EXPECT_FALSE(quarter.chooses({0, kRandom / 4 * 3 - 1}));
  EXPECT_TRUE(quarter.chooses({0, kRandom / 4 * 3}));
  EXPECT_TRUE(quarter.chooses({0, kRandom - 1}));
  EXPECT_FALSE(quarter.chooses({~std::uint64_t{0}, kRandom})) << "the first bits need not be random";
  EXPECT_TRUE(quarter.chooses({5, ~std::uint64_t{0}}));
}

TEST(Sampler, AHigherRateChoosesMoreOfTheSame) {
  const TraceSampler fewer({0.01, 0, {}}), more({0.1, 0, {}});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const TraceId trace{1, i * (kRandom / 1000)};
    EXPECT_LE(fewer.chooses(trace), more.chooses(trace));
  }
}

TEST(Sampler, NoneAndAll) {
  const TraceSampler none({0.0, 0, {}}), all({1.0, 0, {}});
  for (const std::uint64_t lo : {std::uint64_t{0}, kRandom - 1, ~std::uint64_t{0}}) {
    EXPECT_FALSE(none.chooses({1, lo}));
    EXPECT_TRUE(all.chooses({1, lo}));
  }
}

TEST(Sampler, FollowsSoManyOfEachSecond) {
  int refused = 0;
  TraceSampler sampler({0.0, 3, [&refused] { ++refused; }});
  std::vector<bool> followed;
  for (int i = 0; i < 5; ++i) followed.push_back(sampler.follows(kSecond + i * kMillisecond));
  EXPECT_EQ(followed, (std::vector<bool>{true, true, true, false, false}));
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(sampler.follows(kSecond + 1000 * kMillisecond));
  TraceSampler nobody({0.0, 0, {}});
  EXPECT_FALSE(nobody.follows(kSecond));
}

TEST(Sampler, ManyThreadsShareTheBound) {
  std::atomic<int> followed{0};
  TraceSampler sampler({0.0, 1000, {}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) followed += sampler.follows(kSecond) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(followed, 1000);
}

}  // namespace
}  // namespace volvox
