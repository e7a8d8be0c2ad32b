#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/cpu_device.h"

namespace volvox::cpu {
namespace {

struct Numbers {
  explicit Numbers(unsigned seed) : random(seed) {}
  std::vector<float> draw(std::size_t n) {
    std::vector<float> v(n);
    for (float& x : v) x = distribution(random);
    return v;
  }
  std::mt19937 random;
  std::uniform_real_distribution<float> distribution{-1, 1};
};

// More ids than go through at once, no multiple of anything.
TEST(FoldRows, KernelsComputeTheBitsOfTheContract) {
  constexpr std::int64_t kIds = 3100, kWidth = 75, kA = 37, kB = 11;
  Numbers numbers(3);
  const auto rows_a = numbers.draw(kIds * kA), rows_b = numbers.draw(kIds * kB);
  const auto wa = numbers.draw(kWidth * kA), wb = numbers.draw(kWidth * kB), bias = numbers.draw(kWidth);
  FoldedTable table{.name = "t",
                    .ids = kIds,
                    .width = kWidth,
                    .terms = {{rows_a.data(), wa.data(), kA}, {rows_b.data(), wb.data(), kB}}};
  for (const float* start : {bias.data(), static_cast<const float*>(nullptr)}) {
    table.bias = start;
    std::vector<float> right(kIds * kWidth), made(right.size());
    ASSERT_TRUE(volvox::fold_rows(table, right.data()));
    for (const Isa isa : supported_isas()) {
      for (const std::uint32_t threads : {1U, 3U}) {
        const auto device = CpuDevice::make({.isa = isa, .threads = threads}).value();
        std::fill(made.begin(), made.end(), 99.0F);
        ASSERT_TRUE(device->folding()(table, made.data()));
        ASSERT_EQ(made, right) << to_string(isa) << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace volvox::cpu
