#include "gpu/cuda/runtime_compiler.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gpu/cuda/compiled_stages.h"

namespace volvox::gpu {
namespace {

constexpr int kRandomCells = 60;

TEST_F(RuntimeCompilerTest, MakesGoodCodeOfAllStagesOfRandomCells) {
  StageSources sources;
  auto driver = std::make_shared<FakeDriver>();
  sources.collect_from(*driver);
  const Weights weights = random_cell_weights(12);
  for (std::uint32_t seed = 1; seed <= kRandomCells; ++seed) {
    auto device = GpuDevice::make(driver, compiling_device()).value();
    const std::size_t before = sources.all().size();
    CellBatch(random_cell(seed, 12, weights), weights, 1).on_device(*device);
    EXPECT_GT(sources.all().size(), before) << "random cell " << seed;
  }
  expect_good_code(sources);
}

TEST_F(RuntimeCompilerTest, SaysWhatIsWrong) {
  const auto code = compiler_->compile({"VOLVOX_STAGE(0) { no_such_thing(); }\n", 1}, "90");
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::kInternal);
  EXPECT_THAT(code.error().message, ::testing::HasSubstr("no_such_thing"));
}

TEST_F(RuntimeCompilerTest, NamesAllThatCodeDependsOn) {
  const StageSource one{"VOLVOX_STAGE(0) {}\n", 1}, other{"VOLVOX_STAGE(0) { }\n", 1};
  EXPECT_EQ(compiler_->key(one, "90"), compiler_->key(one, "90"));
  EXPECT_NE(compiler_->key(one, "90"), compiler_->key(one, "80"));
  EXPECT_NE(compiler_->key(one, "90"), compiler_->key(other, "90"));
}

}  // namespace
}  // namespace volvox::gpu
