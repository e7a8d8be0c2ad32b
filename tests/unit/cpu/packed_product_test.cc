#include "cpu/packed_product.h"

#include <vector>

#include <gtest/gtest.h>

namespace volvox::cpu {
namespace {

// weight[o][k] = 100·o + k + 1, so that every element tells where it came from.
std::vector<float> numbered(std::size_t outputs, std::size_t width) {
  std::vector<float> w;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < width; ++k) w.push_back(static_cast<float>(100 * o + k + 1));
  }
  return w;
}

class PackedProductOf : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Lanes, PackedProductOf, testing::Values(8, 16));

TEST_P(PackedProductOf, DealsGatesToBlocksOfSoManyUnits) {
  const std::size_t lanes = GetParam(), hidden = lanes + 4;
  constexpr std::size_t kWidth = 3;
  const auto w = numbered(4 * hidden, kWidth);
  const WeightTerm term{w.data(), kWidth};
  const auto packed = PackedProduct::make({&term, 1}, nullptr, 4 * hidden, 4, lanes);
  ASSERT_TRUE(packed);
  ASSERT_EQ(packed->blocks(), 2U);
  const ProductBlock second = packed->block(1);
  EXPECT_EQ(second.unit, lanes);
  EXPECT_EQ(second.column, lanes);
  EXPECT_EQ(second.gate_stride, hidden);
  EXPECT_EQ(second.valid[3], 4);
  EXPECT_EQ(second.bias, nullptr);
  for (std::size_t k = 0; k < kWidth; ++k) {
    for (std::size_t g = 0; g < 4; ++g) {
      for (std::size_t u = 0; u < lanes; ++u) {
        const float want = u < 4 ? w[(g * hidden + lanes + u) * kWidth + k] : 0.0F;
        EXPECT_EQ(second.weights[(k * 4 + g) * lanes + u], want);
      }
    }
  }
}

TEST_P(PackedProductOf, DealsPlainOutputsInARow) {
  const std::size_t lanes = GetParam(), outputs = kPlainGroups * lanes + 6;
  const auto w = numbered(outputs, 2);
  const auto bias = numbered(outputs, 1);
  const WeightTerm term{w.data(), 2};
  const auto packed = PackedProduct::make({&term, 1}, bias.data(), outputs, kPlain, lanes);
  ASSERT_TRUE(packed);
  ASSERT_EQ(packed->blocks(), 2U);
  const ProductBlock second = packed->block(1);
  EXPECT_EQ(second.valid[0], 6);
  EXPECT_EQ(packed->block(0).groups, 4U);
  EXPECT_EQ(second.groups, 1U) << "the last block is no wider than it must be";
  EXPECT_EQ(second.bias[5], bias[outputs - 1]);
  EXPECT_EQ(second.bias[6], 0.0F);
  EXPECT_EQ(second.weights[lanes + 5], w[(outputs - 1) * 2 + 1]);
  EXPECT_EQ(packed->block(1, 1).weights, second.weights + lanes);
}

TEST(PackedProduct, LaysTermsOneAfterAnother) {
  const auto a = numbered(4, 2), b = numbered(4, 1);
  const WeightTerm terms[] = {{a.data(), 2}, {b.data(), 1}};
  const auto packed = PackedProduct::make(terms, nullptr, 4, 4, 16);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->width(), 3U);
  EXPECT_EQ(packed->block(0).weights[2 * 64 + 16], b[1]);
  EXPECT_EQ(packed->flops_per_row(), 2.0 * 3 * 4);
}

TEST(PackedProduct, RefusesWhatItCannotPack) {
  EXPECT_FALSE(PackedProduct::make({}, nullptr, 0, kPlain, 16));
  EXPECT_FALSE(PackedProduct::make({}, nullptr, 6, 4, 16));
}

}  // namespace
}  // namespace volvox::cpu
