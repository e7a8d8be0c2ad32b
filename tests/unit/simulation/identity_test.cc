// The same requests give the same bits, whatever they run with (docs/architecture.md, numerics).

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "cells/model/reference.h"
#include "tests/unit/simulation/models.h"
#include "tests/unit/simulation/ways.h"

namespace volvox {
namespace {

class Identity : public ::testing::Test {
 protected:
  // Hidden and input sizes that no vector width divides.
  static constexpr NewSizes kSizes{.hidden = 37, .input = 29, .vocabulary = 200};

  void SetUp() override {
    const auto model = folder_.lstm(kSizes);
    SeededRandom chance(11);
    for (int i = 0; i < 600; ++i) {
      contents_.push_back(random_content(*model, 1 + static_cast<std::uint32_t>(chance.below(12)), chance));
    }
    right_ = answers({.max_batch = 1, .in_flight = 1, .eager = false});
    ASSERT_EQ(right_.size(), contents_.size());
  }

  Answers answers(const Way& way) {
    return answers_in(
        way, [this](const LoadOptions& options) { return folder_.lstm(kSizes, options); }, contents_);
  }
  void expect_same(const Way& way) { expect_same_answers(answers(way), right_, way); }

  ModelFolder folder_;
  std::vector<ChainContent> contents_;
  Answers right_;
};

TEST_F(Identity, OverBatchSizes) {
  for (std::uint32_t batch : {1U, 2U, 3U, 7U, 16U, 33U, 64U, 512U}) {
    expect_same({.max_batch = batch, .in_flight = 2 * batch, .isa = cpu::best_isa()});
  }
}

TEST_F(Identity, OverInstructionSetsAndThreads) {
  for (cpu::Isa isa : cpu::supported_isas()) {
    for (std::uint32_t threads : {1U, 2U}) {
      expect_same({.max_batch = 32, .threads = threads, .isa = isa, .fold = true});
      for (const bool eager : {true, false}) {
        expect_same({.max_batch = 32, .threads = threads, .isa = isa, .eager = eager});
      }
    }
  }
}

TEST_F(Identity, OverPolicies) {
  for (const bool eager : {true, false}) {
    expect_same({.max_batch = 16, .in_flight = 200, .isa = cpu::best_isa(), .eager = eager, .padded = true});
  }
}

TEST_F(Identity, OverCompositions) {
  for (std::uint32_t in_flight : {1U, 2U, 5U, 50U, 600U}) {
    expect_same({.max_batch = 24, .in_flight = in_flight, .isa = cpu::best_isa()});
  }
}

TEST_F(Identity, OverWorkersAndWindows) {
  expect_same({.max_batch = 16, .workers = 2, .isa = cpu::best_isa()});
  expect_same({.max_batch = 16, .isa = cpu::best_isa(), .eager_window = 1});
  expect_same({.max_batch = 16, .isa = cpu::best_isa(), .eager_window = 3});
}

TEST_F(Identity, OverFusedAndInterpretedCells) {
  expect_same({.max_batch = 16, .isa = cpu::best_isa(), .eager = false, .fuse = false});
  expect_same({.max_batch = 16, .isa = cpu::best_isa(), .fuse = false});
  expect_same({.max_batch = 16, .isa = cpu::best_isa(), .eager = false, .fuse = false, .fold = true});
}

TEST_F(Identity, AndTheBitsAreRight) {
  auto reference = Reference::make(folder_.lstm(kSizes, {.eager = false}));
  ASSERT_TRUE(reference) << reference.error().message;
  for (std::size_t i = 0; i < contents_.size(); i += 20) {
    const std::span<const std::byte> input = contents_[i].inputs[0];
    const auto exact = reference->run(std::span(&input, 1));
    ASSERT_TRUE(exact) << exact.error().message;
    for (std::size_t k = 0; k < 37; ++k) {
      float h = 0;
      std::memcpy(&h, right_[i].data() + 4 * k, 4);
      EXPECT_NEAR(h, exact->front().reals[k], 1e-5) << "request " << i << ", element " << k;
    }
  }
}

}  // namespace
}  // namespace volvox
