#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/isa.h"
#include "cpu/kernel/kernels.h"
#include "cpu/product_runner.h"

namespace volvox::cpu {
namespace {

// The chain of one output, written as the contract says.
float chain(float start, const float* w, const float* x, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) start = std::fma(x[k], w[k], start);
  return start;
}

TEST(Product, IsOneChainOfFusedMultiplyAddsFromTheBias) {
  constexpr std::size_t kOutputs = 75, kA = 37, kB = 11, kRows = 9;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> distribution(-1, 1);
  const auto draw = [&](std::size_t n) {
    std::vector<float> v(n);
    for (float& x : v) x = distribution(random);
    return v;
  };
  const auto wa = draw(kOutputs * kA), wb = draw(kOutputs * kB), bias = draw(kOutputs);
  const auto a = draw(kRows * kA), b = draw(kRows * kB);
  const WeightTerm weights[] = {{wa.data(), kA}, {wb.data(), kB}};
  std::vector<const float*> rows_a, rows_b;
  std::vector<float> out(kRows * (kOutputs + 1), 99.0F);
  std::vector<float*> rows_out;
  for (std::size_t r = 0; r < kRows; ++r) {
    rows_a.push_back(&a[r * kA]);
    rows_b.push_back(&b[r * kB]);
    rows_out.push_back(&out[r * (kOutputs + 1)]);
  }
  const ProductTerm terms[] = {{rows_a.data(), kA}, {rows_b.data(), kB}};
  ProductCall call;
  call.rows = kRows;
  call.terms = terms;
  call.term_count = 2;
  call.out[0] = rows_out.data();
  ThreadTeam team(1);
  for (Isa isa : supported_isas()) {
    const Kernels& kernels = *kernels_for(isa);
    const auto packed = PackedProduct::make(weights, bias.data(), kOutputs, kPlain, kernels.lanes).value();
    call.product = &packed;
    call.kernel = kernels.product;
    ProductRunner::make(1).value().run(team, call);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t o = 0; o < kOutputs; ++o) {
        const float after_a = chain(bias[o], &wa[o * kA], &a[r * kA], kA);
        ASSERT_EQ(rows_out[r][o], chain(after_a, &wb[o * kB], &b[r * kB], kB)) << to_string(isa) << " " << o;
      }
      ASSERT_EQ(rows_out[r][kOutputs], 99.0F) << "wrote past the row's end";
    }
  }
}

// Columns in the order in which a thread meets them.
std::vector<std::size_t> visited;
void visit(const ProductBlock& p) {
  visited.push_back(p.column);
  if (p.upcoming != nullptr) visited.push_back(static_cast<std::size_t>(p.weights != p.upcoming));
}

PackedProduct zeros(std::size_t width, std::size_t blocks) {
  const std::size_t outputs = blocks * kPlainGroups * kMaxLanes;
  const std::vector<float> w(outputs * width);
  const WeightTerm term{w.data(), width};
  return PackedProduct::make({&term, 1}, nullptr, outputs, kPlain, kMaxLanes).value();
}

TEST(Product, TooLargeForACacheIsWalkedForwardsAndBackwardsInTurn) {
  const PackedProduct large = zeros(2048, 3), small = zeros(64, 3);
  ThreadTeam team(1);
  ProductRunner runner = ProductRunner::make(1).value();
  const auto walk = [&](const PackedProduct& product, std::size_t rows) {
    visited.clear();
    ProductCall call;
    call.product = &product;
    call.kernel = visit;
    call.rows = rows;
    runner.run(team, call);
    return visited;
  };
  using Walk = std::vector<std::size_t>;  // columns, and between two whether it was told of other weights
  EXPECT_EQ(walk(large, 1), (Walk{0, 1, 64, 1, 128}));
  EXPECT_EQ(walk(large, 1), (Walk{128, 1, 64, 1, 0}));
  EXPECT_EQ(walk(small, 1), walk(small, 1)) << "one that fits needs no turns, and takes none from others";
  EXPECT_EQ(walk(large, 1), (Walk{0, 1, 64, 1, 128}));
  ASSERT_EQ(plan_product(large, 150, 1).row_blocks, 2U);
  EXPECT_EQ(walk(large, 150), (Walk{128, 1, 64, 1, 0, 0, 0, 1, 64, 1, 128}));
  EXPECT_EQ(walk(large, 1), (Walk{128, 1, 64, 1, 0})) << "a call of two sweeps ends where it began";
}

TEST(Plan, CutsWorkForEveryThread) {
  std::vector<float> w(4 * 64 * 128);
  const WeightTerm term{w.data(), 128};
  const auto product = PackedProduct::make({&term, 1}, nullptr, 4 * 64, 4, 16).value();
  EXPECT_TRUE(plan_product(product, 1, 2).alone);
  EXPECT_TRUE(plan_product(product, 512, 1).alone);
  for (std::size_t rows = 1; rows <= 700; ++rows) {
    for (std::uint32_t threads : {1U, 2U, 8U}) {
      const ProductPlan plan = plan_product(product, rows, threads);
      ASSERT_LE(plan.rows_per_unit, kMaxBlockRows);
      ASSERT_GE(plan.rows_per_unit * plan.row_blocks, rows);
      ASSERT_LT(plan.rows_per_unit * (plan.row_blocks - 1), rows);
    }
  }
  const ProductPlan shared = plan_product(product, 512, 2);
  EXPECT_FALSE(shared.alone);
  EXPECT_GE(shared.row_blocks * product.blocks(), 8U);
}

}  // namespace
}  // namespace volvox::cpu
