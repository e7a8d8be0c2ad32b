#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/cuda/runtime_compiler.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stage_sources.h"

// What NVRTC makes of stages, for which no GPU is needed.
namespace volvox::gpu {

inline constexpr std::size_t kTogether = 16;  // sources at once: a compiler reads its headers for each
// Of a multiprocessor, and so many blocks of kStageThreads at once hide what their loads wait for.
inline constexpr int kRegisters64K = 65536, kBlocks = 4;

// A device whose stages are compiled, by whoever its driver asks.
inline GpuOptions compiling_device() {
  GpuOptions options = small_device({.precision = Precision::kBfloat16, .path = KernelPath::kGeneric});
  options.measure = false;
  return options;
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

  // Of all of them, for each kind of device.
  void expect_good_code(const StageSources& sources) const {
    std::vector<std::thread> threads;
    for (const char* capability : {"80", "90", "100"}) {
      threads.emplace_back([&, capability] {
        for (std::size_t first = 0; first < sources.all().size(); first += kTogether)
          expect_good(sources.together(first, first + kTogether), capability);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const RuntimeCompiler* compiler_ = nullptr;
};

}  // namespace volvox::gpu
