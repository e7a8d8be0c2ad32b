#include "cells/ir/mirror.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells_testing.h"
#include "row_runner.h"
#include "tests/unit/device/convolution_cell.h"

namespace volvox {
namespace {

// A Fourier transform of frames of `width` samples under a Hann window: cosines, then sines.
std::vector<float> fourier(std::int64_t width) {
  const std::int64_t bands = width / 2 + 1;
  std::vector<float> kernels;
  for (std::int64_t k = 0; k < 2 * bands; ++k) {
    for (std::int64_t tap = 0; tap < width; ++tap) {
      // What mirrors itself is computed once, so that its bits are equal.
      const std::int64_t at = tap <= width / 2 ? tap : width - tap;
      const double turn = 2 * std::numbers::pi * static_cast<double>(at) / static_cast<double>(width);
      const double angle = turn * static_cast<double>(k % bands), window = (1 - std::cos(turn)) / 2;
      const double wave = k < bands ? std::cos(angle) : std::sin(angle);
      kernels.push_back(static_cast<float>(window * (at == tap || k < bands ? wave : -wave)));
    }
  }
  return kernels;
}

Convolution frames(std::int64_t width) {
  return {.width = 3 * width,
          .kernels = 2 * (width / 2 + 1),
          .kernel_width = width,
          .stride = {1, width / 2},
          .summed_again = true};
}

std::vector<float> noise(const Convolution& c) {
  Random random(7);
  std::vector<float> kernels(static_cast<std::size_t>(c.kernels * c.window()));
  for (float& weight : kernels) weight = random.uniform(1.0F);
  return kernels;
}

TEST(Mirror, IsFoundInAFourierTransform) {
  const Convolution c = frames(64);
  const Mirror mirror = find_mirror(c, fourier(64).data(), true);
  EXPECT_EQ(mirror.axis, 64);
  EXPECT_EQ(mirror.first, 1);
  EXPECT_EQ(mirror.pairs, 31);
  EXPECT_EQ(mirror.even, 34) << "the sine of nothing is zeros, which are even as well";
  EXPECT_EQ(mirror.folded(64), 33);
}

// The first bands with the sine of nothing, which is zeros, among the cosines.
std::vector<float> twins(std::int64_t width) {
  std::vector<float> kernels = fourier(width);
  const auto wide = static_cast<std::size_t>(width);
  twin_kernels(kernels, wide, wide / 2 + 1);
  return kernels;
}

TEST(Mirror, FindsTheTwinsOfAFourierTransform) {
  const Convolution c = frames(64);
  const Mirror mirror = find_mirror(c, twins(64).data(), false);
  EXPECT_EQ(mirror.phases, 2);
  EXPECT_EQ(mirror.even, 33) << "the sine of nothing counts as odd, where it has a twin";
  EXPECT_EQ(mirror.multiplied(33), 17);
  EXPECT_EQ(mirror.folded(64, 0) + mirror.folded(64, 1), 33);
  EXPECT_EQ(mirror.pairs_of(0), 15);
  EXPECT_EQ(mirror.pairs_of(1), 16);
  EXPECT_EQ(find_mirror(c, twins(64).data(), true).phases, 1) << "each has a bias of its own";
  for (const std::size_t at : {std::size_t{64 * 30 + 20}, std::size_t{64 * 40 + 20}}) {
    std::vector<float> kernels = twins(64);
    for (const std::size_t one : {at, at + 24}) kernels[one] *= 2;  // still its own image
    const Mirror other = find_mirror(c, kernels.data(), false);
    EXPECT_TRUE(other);
    EXPECT_EQ(other.phases, 1) << at;
  }
}

TEST(Mirror, IsNotThereWhereAnyWeightDiffers) {
  const Convolution c = frames(64);
  for (const std::size_t at : {std::size_t{3}, std::size_t{64 * 40 + 50}}) {
    std::vector<float> kernels = fourier(64);
    kernels[at] = std::nextafter(kernels[at], 2.0F);
    EXPECT_FALSE(find_mirror(c, kernels.data(), true)) << at;
  }
  std::vector<float> nowhere = fourier(64);
  nowhere[5] = nowhere[59] = NAN;
  EXPECT_FALSE(find_mirror(c, nowhere.data(), true));
  EXPECT_FALSE(find_mirror(c, noise(c).data(), true));
}

TEST(Mirror, IsSoughtInLinesOfOneChannelOnly) {
  const std::vector<float> zeros(1 << 14);
  const Convolution c{.width = 90, .kernels = 32, .kernel_width = 32, .summed_again = true};
  EXPECT_TRUE(find_mirror(c, zeros.data(), true));
  const auto expect_none = [&](const char* why, const auto& change) {
    Convolution other = c;
    change(other);
    EXPECT_FALSE(find_mirror(other, zeros.data(), true)) << why;
  };
  expect_none("two channels", [](Convolution& o) { o.channels = 2; });
  expect_none("gaps", [](Convolution& o) { o.dilation = {1, 2}; });
  expect_none("two lines", [](Convolution& o) { o.height = 2; });
  expect_none("padding above", [](Convolution& o) { o.padding = {1, 0}; });
  expect_none("more padding than there is to read", [](Convolution& o) { o.padding = {0, 46}; });
  expect_none("seen as it is", [](Convolution& o) { o.summed_again = false; });
  expect_none("few kernels", [](Convolution& o) { o.kernels = 4; });
  expect_none("short kernels", [](Convolution& o) { o.kernel_width = 8; });
}

// By what is made of a convolution's results.
TEST(Mirror, IsForWhatIsSummedAgain) {
  const auto is_summed = [](const auto& use) {
    const Convolution c{.width = 8, .kernels = 2, .kernel_width = 5};
    CellBuilder b("convolution");
    use(b, b.convolution(b.pull("x", DType::kF32, {c.inputs()}), "kernels", c));
    testing_cells::WeightsMaker maker;
    const auto one = [](std::size_t) { return 1.0F; };
    maker.add("kernels", c.weight_shape(), one);
    maker.add("all", {3, 8}, one);
    maker.add("half", {3, 4}, one);
    const Weights weights = maker.weights();
    return slid(b.build(&weights).value()).summed_again;
  };
  const auto give = [](CellBuilder& b, ValueId y) { b.push("y", b.product({{"all", y}}, {})); };
  EXPECT_TRUE(is_summed(give));
  EXPECT_TRUE(is_summed([&](CellBuilder& b, ValueId y) {
    const ValueId a = b.slice(y, 0, 4), z = b.slice(y, 4, 8);
    b.push("y", b.product({{"half", b.apply("sqrt", {b.add(b.mul(a, a), b.mul(z, z))})}}, {}));
  }));
  EXPECT_FALSE(is_summed([&](CellBuilder& b, ValueId y) { give(b, b.apply("log", {b.apply("abs", {y})})); }));
  EXPECT_FALSE(is_summed([&](CellBuilder& b, ValueId y) {
    give(b, y);
    b.push("seen", y);
  }));
  EXPECT_FALSE(is_summed([&](CellBuilder& b, ValueId y) { give(b, b.apply("softmax", {y})); }));
}

// Beside sums that know nothing of a mirror.
TEST(Mirror, ChangesNothingButTheOrderOfSums) {
  for (const auto& [padding, biased] :
       {std::pair(0, true), std::pair(40, true), std::pair(0, false), std::pair(39, false)}) {
    Convolution c = frames(64);
    c.padding = {0, padding};
    const std::vector<float> kernels = biased ? fourier(64) : twins(64);
    testing_cells::WeightsMaker maker;
    maker.add("kernels", c.weight_shape(), [&](std::size_t i) { return kernels[i]; });
    maker.add("bias", {c.kernels}, [](std::size_t i) { return static_cast<float>(i) / 64; });
    const Weights weights = maker.weights();
    CellBuilder b("convolution");
    const ValueId x_value = b.pull("x", DType::kF32, {c.inputs()});
    b.push("y", biased ? b.convolution(x_value, "kernels", c, "bias") : b.convolution(x_value, "kernels", c));
    testing_cells::RowRunner<double> runner(b.build(&weights).value(), weights);
    Random random(3);
    std::vector<float> x(static_cast<std::size_t>(c.inputs()));
    for (float& sample : x) sample = random.uniform(1.0F);
    const auto y = testing_cells::values_of<double>(runner.run({}, {x.data()}).pushes.at("y"));
    ASSERT_EQ(y.size(), static_cast<std::size_t>(c.outputs()));
    for (std::int64_t k = 0; k < c.kernels; ++k) {
      for (std::int64_t position = 0; position < c.positions(); ++position) {
        double sum = biased ? static_cast<double>(k) / 64 : 0;
        for (std::int64_t tap = 0; tap < 64; ++tap) {
          const std::int64_t at = position * 32 - padding + tap;
          if (at < 0 || at >= c.width) continue;
          sum += static_cast<double>(kernels[static_cast<std::size_t>(k * 64 + tap)]) *
                 static_cast<double>(x[static_cast<std::size_t>(at)]);
        }
        ASSERT_NEAR(y[static_cast<std::size_t>(k * c.positions() + position)], sum, 1e-12)
            << k << ", " << position;
      }
    }
  }
}

}  // namespace
}  // namespace volvox
