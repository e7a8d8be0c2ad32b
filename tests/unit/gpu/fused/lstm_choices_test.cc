#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cells/library/lstm.h"
#include "gpu/driver/choice_cache.h"
#include "tests/unit/gpu/backends.h"
#include "tests/unit/gpu/random_cell.h"

// Which of two ways to run an LSTM is taken is measured at load, once for a kind of GPU.
namespace volvox::gpu {
namespace {

namespace fs = std::filesystem;

// An LSTM that has two ways to be run.
class LstmChoices : public ::testing::Test {
 protected:
  LstmChoices() { fs::create_directories(folder_); }
  ~LstmChoices() override { fs::remove_all(folder_); }

  // A start on a GPU of this kind: which kernel the cell has got.
  std::string kernel(const CellOptions& options = {.precision = Precision::kBfloat16}) {
    const auto driver = std::make_shared<FakeDriver>();
    driver->keep_choices(ChoiceCache::open(folder_).value());
    const auto device = GpuDevice::make(driver, small_device(options)).value();
    EXPECT_TRUE(device->add_pool(0, cell_.states, 20));
    const auto compiled = device->compile(0, cell_, weights_, {.max_batch = 4});
    EXPECT_TRUE(compiled) << compiled.error().message;
    return compiled ? compiled->kernel : "";
  }
  std::string kept() const {
    std::ifstream in(folder_ + "/gpu-choices");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // As if each size had been faster that way when it was measured first.
  void choose(const std::string& way) {
    const std::string text = std::regex_replace(kept(), std::regex("\t(fused|generic)\n"), "\t" + way + "\n");
    std::ofstream(folder_ + "/gpu-choices") << text;
  }

  const std::string folder_ =
      (fs::temp_directory_path() / ("measured" + std::to_string(::getpid()))).string();
  const Weights weights_ = random_weights()
                               .add("lstm.embedding", {kVocabulary, 32})
                               .add("lstm.weight_ih", {128, 32})
                               .add("lstm.weight_hh", {128, 32})
                               .add("lstm.bias", {128})
                               .weights();
  const Cell cell_ = lstm_cell("lstm", {32, 32}, &weights_).value();
};

TEST_F(LstmChoices, OfTwoWaysHoldForAllStartsAfterTheFirst) {
  const std::string first = kernel(), chosen = kept();
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), '\t'), 3) << "sizes 1, 2 and 4: " << chosen;
  EXPECT_EQ(kernel(), first);
  EXPECT_EQ(kept(), chosen);
  choose("fused");
  EXPECT_EQ(kernel(), "lstm bfloat16");
  choose("generic");
  EXPECT_EQ(kernel(), "generic bfloat16");
}

TEST_F(LstmChoices, OfOneSortAreNotThoseOfAnother) {
  kernel();
  choose("generic");
  EXPECT_EQ(kernel({.precision = Precision::kBfloat16, .path = KernelPath::kFused}), "lstm bfloat16")
      << "who asks for a way gets it";
  const std::string chosen = kept();
  kernel({.precision = Precision::kFloat16});
  EXPECT_NE(kept(), chosen);
}

}  // namespace
}  // namespace volvox::gpu
