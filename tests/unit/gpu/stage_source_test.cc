#include "gpu/program/stage_source.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cells/library/child_sum.h"
#include "cells/library/lstm.h"
#include "cells/library/tree_lstm.h"
#include "tests/sanitized.h"
#include "tests/unit/cells/tree_weights.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stage_sources.h"

// Stages as they are written for the device's compiler, compiled by the host's: every thread of every block
// runs, and the results have the bits of programs that are interpreted.
namespace volvox::gpu {
namespace {

namespace fs = std::filesystem;

struct Case {
  Cell cell;
  Weights weights;
  CellOptions options;
};

std::vector<Case> cases() {
  constexpr std::int64_t kHidden = 12;
  std::vector<Case> all;
  const auto add = [&](const Cell& cell, const Weights& weights) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16})
      all.push_back({cell, weights, {.precision = precision, .path = KernelPath::kGeneric}});
  };
  const Weights random = random_cell_weights(kHidden);
  for (std::uint32_t seed = 1; seed <= (kSanitized ? 6 : 16); ++seed)
    add(random_cell(seed, kHidden, random), random);
  // Widths of one thread and of several rows a block, of several elements a thread, and of several pieces a
  // row.
  for (const std::int64_t hidden : {1, 7, 33, 600}) {
    const Weights weights = lstm_weights(8, hidden);
    add(lstm_cell("lstm", {8, hidden}, &weights).value(), weights);
  }
  const Weights tree = tree_lstm_weights(random_weights(), 9, 20);
  add(tree_lstm_leaf_cell("leaf", "t", {9, 20}, &tree).value(), tree);
  add(tree_lstm_internal_cell("internal", "t", {9, 20}, &tree).value(), tree);
  const Weights ragged = child_sum_weights(random_weights(), 9, 20);
  add(child_sum_cell("sum", {9, 20}, &ragged).value(), ragged);
  return all;
}

std::vector<float> run(const Case& c, const FakeDriver::Compile& compile, std::string* kernel = nullptr) {
  auto driver = std::make_shared<FakeDriver>();
  driver->compile_with(compile);
  auto options = small_device(c.options);
  options.measure = false;
  auto device = GpuDevice::make(driver, options).value();
  CellBatch batch(c.cell, c.weights, 13);
  const auto results = batch.on_device(*device, {.padded = 16, .max_batch = 16});
  if (kernel != nullptr) *kernel = batch.kernel();
  device.reset();
  EXPECT_EQ(driver->live_modules(), 0U);
  return results;
}

// All sources in one library of the host's.
class HostLibrary {
 public:
  explicit HostLibrary(const StageSources& sources) : sources_(sources) {
    const fs::path folder = fs::temp_directory_path() / ("stages" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream file(folder / "stages.cc");
    file << "#include \"gpu/kernels/stage.h\"\n#define VOLVOX_STAGE_AS(name, n) extern \"C\" void name"
         << "(const PointwiseCall& call, const StageThread& me, std::uint32_t program)\n"
         << "namespace volvox::gpu {\n"
         << sources.together(0, sources.all().size()).text << "}\n";
    file.close();
    const std::string command =
        std::string(VOLVOX_CXX) + " -std=c++20 -O0 -ffp-contract=off -shared -fPIC -I" + VOLVOX_SOURCE_DIR +
        " " + (folder / "stages.cc").string() + " -o " + (folder / "stages.so").string();
    if (std::system(command.c_str()) == 0) library_ = dlopen((folder / "stages.so").c_str(), RTLD_NOW);
    fs::remove_all(folder);
  }
  ~HostLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;
  bool good() const { return library_ != nullptr; }

  std::vector<FakeDriver::Stage> stages(const StageSource& source) const {
    const std::size_t number = sources_.find(source);
    std::vector<FakeDriver::Stage> found;
    for (std::uint32_t n = 0; n < source.stages; ++n) {
      void* stage = dlsym(library_, StageSources::name_of(number, std::to_string(n)).c_str());
      EXPECT_NE(stage, nullptr) << number << ", stage " << n;
      found.push_back(reinterpret_cast<FakeDriver::Stage>(stage));
    }
    return found;
  }

 private:
  const StageSources& sources_;
  void* library_ = nullptr;
};

TEST(StageSourceTest, ComputesWhatInterpretedProgramsCompute) {
  const std::vector<Case> all = cases();
  StageSources sources;
  std::vector<std::vector<float>> interpreted;
  for (const Case& c : all) {
    interpreted.push_back(run(c, [&](const StageSource& source) {
      sources.add(source);
      return std::vector<FakeDriver::Stage>{};
    }));
  }
  const HostLibrary library(sources);
  ASSERT_TRUE(library.good()) << "does " VOLVOX_CXX " not compile what is written for a GPU?";
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string kernel;
    EXPECT_EQ(run(
                  all[i], [&](const StageSource& source) { return library.stages(source); }, &kernel),
              interpreted[i])
        << all[i].cell.name << " " << i;
    EXPECT_EQ(kernel, std::string("compiled ") + std::string(name_of(all[i].options.precision)));
  }
}

TEST(StageSourceTest, IsTheSameForEqualCellsWhereverTheirWeightsLie) {
  const Weights weights = lstm_weights(8, 33);
  const Case c{lstm_cell("lstm", {8, 33}, &weights).value(), weights, {.path = KernelPath::kGeneric}};
  StageSources sources;
  const auto collect = [&](const StageSource& source) {
    sources.add(source);
    return std::vector<FakeDriver::Stage>{};
  };
  run(c, collect);
  const std::size_t first = sources.all().size();
  EXPECT_GT(first, 0U);
  run(c, collect);
  EXPECT_EQ(sources.all().size(), first);
}

TEST(StageCutTest, GivesEachElementToOneThread) {
  for (std::uint32_t width = 1; width < 3000; width += width < 40 ? 1 : 53) {
    const StageCut cut = stage_cut(width);
    const std::uint32_t piece = cut.row_threads * cut.each;
    EXPECT_EQ(kStageThreads % cut.row_threads, 0U) << width;
    EXPECT_GE(cut.pieces * piece, width);
    EXPECT_LT((cut.pieces - 1) * piece, width) << "no piece is empty";
    EXPECT_GE(stage_blocks(width, 7) * (kStageThreads / cut.row_threads), 7 * cut.pieces) << width;
  }
}

}  // namespace
}  // namespace volvox::gpu
