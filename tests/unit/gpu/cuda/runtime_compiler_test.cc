#include "gpu/cuda/runtime_compiler.h"

#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "install/installation.h"
#include "repository/kinds/model_kind.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stage_sources.h"
#include "tests/unit/simulation/models.h"

// What NVRTC makes of the stages of every kind of model and of random cells, for which no GPU is needed.
namespace volvox::gpu {
namespace {

constexpr int kRandomCells = 60;
constexpr std::size_t kTogether = 16;  // sources at once: a compiler reads its headers for each
// Of a multiprocessor, and so many blocks of kStageThreads at once hide what their loads wait for.
constexpr int kRegisters64K = 65536, kBlocks = 4;

StageSources all_sources() {
  StageSources sources;
  auto driver = std::make_shared<FakeDriver>();
  sources.collect_from(*driver);
  GpuOptions options = small_device({.precision = Precision::kBfloat16, .path = KernelPath::kGeneric});
  options.measure = false;
  ModelFolder folder;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) {
      auto device = GpuDevice::make(driver, options).value();
      NewSizes sizes;
      sizes.hidden = 16;
      const auto model = folder.make(std::string(kind.name).c_str(), sizes);
      // What a GPU refuses it refuses before it compiles.
      (void)install(*device, {&model, 1}, {.max_batch = 8});
    }
  }
  EXPECT_GE(sources.all().size(), 20U) << "kinds of models";
  const Weights weights = random_cell_weights(12);
  for (std::uint32_t seed = 1; seed <= kRandomCells; ++seed) {
    auto device = GpuDevice::make(driver, options).value();
    const std::size_t before = sources.all().size();
    CellBatch(random_cell(seed, 12, weights), weights, 1).on_device(*device);
    EXPECT_GT(sources.all().size(), before) << "random cell " << seed;
  }
  return sources;
}

class RuntimeCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = RuntimeCompiler::open();
    if (!opened) GTEST_SKIP() << opened.error().message;
    compiler_ = *opened;
  }
  // Of one source for one device: that each stage is there, that nothing spills, that enough blocks fit.
  void expect_good(const StageSource& source, const std::string& capability) const {
    std::string said;
    const auto code = compiler_->compile(source, capability, &said);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_TRUE(
        code->starts_with("\x7f"
                          "ELF"));
    static const std::regex kEntry("Compiling entry function '(\\w+)'");
    static const std::regex kMemory(
        "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
    static const std::regex kUsed("Used (\\d+) registers");
    std::istringstream lines(said);
    std::string kernel;
    std::uint32_t kernels = 0;
    std::smatch found;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, found, kEntry)) kernel = found[1].str() + ", sm_" + capability;
      if (std::regex_search(line, found, kMemory)) {
        EXPECT_EQ(found[0], "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") << kernel;
      }
      if (!std::regex_search(line, found, kUsed)) continue;
      ++kernels;
      EXPECT_LE(std::stoi(found[1]) * static_cast<int>(kStageThreads) * kBlocks, kRegisters64K) << kernel;
    }
    EXPECT_EQ(kernels, source.stages) << said;
  }

  const RuntimeCompiler* compiler_ = nullptr;
};

TEST_F(RuntimeCompilerTest, MakesGoodCodeOfAllStagesOfModelsAndRandomCells) {
  const StageSources sources = all_sources();
  std::vector<std::thread> threads;
  for (const char* capability : {"80", "90", "100"}) {
    threads.emplace_back([&, capability] {
      for (std::size_t first = 0; first < sources.all().size(); first += kTogether)
        expect_good(sources.together(first, first + kTogether), capability);
    });
  }
  for (std::thread& thread : threads) thread.join();
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
