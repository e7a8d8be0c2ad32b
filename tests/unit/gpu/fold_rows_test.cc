#include "gpu/program/fold_rows.h"

#include <random>
#include <vector>

#include "tests/unit/gpu/backends.h"

namespace volvox::gpu {
namespace {

class GpuFolding : public ::testing::TestWithParam<Backend> {};

// More rows than one product has, and operands of two tables.
TEST_P(GpuFolding, ComputesAllRowsOfATable) {
  auto driver = GetParam().open();
  if (!driver) GTEST_SKIP() << driver.error().message;
  constexpr std::int64_t kIds = 2051, kWidth = 40, kFirst = 9, kSecond = 20;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(-1, 1);
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& x : all) x = draw(random);
    return all;
  };
  const auto rows1 = numbers(kIds * kFirst), weight1 = numbers(kWidth * kFirst);
  const auto rows2 = numbers(kIds * kSecond), weight2 = numbers(kWidth * kSecond), bias = numbers(kWidth);
  FoldedTable table;
  table.ids = kIds;
  table.width = kWidth;
  table.terms = {{rows1.data(), weight1.data(), kFirst}, {rows2.data(), weight2.data(), kSecond}};
  for (const float* start : {bias.data(), static_cast<const float*>(nullptr)}) {
    table.bias = start;
    std::vector<float> want(kIds * kWidth), got(kIds * kWidth, -7);
    ASSERT_TRUE(volvox::fold_rows(table, want.data()));
    for (const auto& [precision, tolerance] :
         {std::pair{Precision::kFloat32, 1e-5}, {Precision::kTf32, 2e-2}, {Precision::kBfloat16, 5e-2}}) {
      const Status folded = fold_rows(**driver, precision, false, table, got.data());
      ASSERT_TRUE(folded) << folded.error().message;
      for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuFolding, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
