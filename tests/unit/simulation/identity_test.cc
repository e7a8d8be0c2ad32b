// The same requests give the same bits, whatever they run with (DESIGN §5, numerics).

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "batching/policy/policies.h"
#include "cells/model/reference.h"
#include "cpu/cpu_device.h"
#include "install/installation.h"
#include "simulation/chains.h"
#include "simulation/engine.h"
#include "tests/unit/simulation/models.h"

namespace volvox {
namespace {

using Answers = std::vector<std::vector<std::byte>>;

struct Way {
  std::uint32_t max_batch = 64, in_flight = 64, threads = 1, workers = 1;
  cpu::Isa isa = cpu::Isa::kPortable;
  bool eager = true, padded = false, fuse = true;
  std::uint32_t eager_window = 32;
};

class Identity : public ::testing::Test {
 protected:
  // Hidden and input sizes that no vector width divides.
  static constexpr NewLstm kSizes{.hidden = 37, .input = 29, .vocabulary = 200};

  void SetUp() override {
    const auto model = folder_.lstm(kSizes);
    Chance chance(11);
    for (int i = 0; i < 600; ++i) {
      contents_.push_back(random_content(*model, 1 + static_cast<std::uint32_t>(chance.below(12)), chance));
    }
    right_ = answers({.max_batch = 1, .in_flight = 1, .eager = false});
    ASSERT_EQ(right_.size(), contents_.size());
  }

  Answers answers(const Way& way) {
    const auto model = folder_.lstm(kSizes, {.eager = way.eager, .eager_window = way.eager_window});
    const cpu::CpuOptions options{.isa = way.isa, .threads = way.threads, .measure = false, .fuse = way.fuse};
    auto device = cpu::CpuDevice::make(options).value();
    const std::vector<std::shared_ptr<const Model>> models{model};
    const auto installed = install(*device, models, {.max_batch = way.max_batch});
    EXPECT_TRUE(installed) << installed.error().message;
    const SchedulerConfig config = scheduler_config(*installed, way.workers);
    auto policy = way.padded ? make_padded_policy(config, {.bucket_width = 4, .max_batch = way.max_batch})
                             : make_cellular_policy(config);
    auto engine = Engine::make(*device, config, std::move(policy), queue_config(config, way.threads)).value();
    auto made = run_chains(*engine, *device, *installed->models[0], contents_, way.in_flight);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : Answers{};
  }

  void expect_same(const Way& way) {
    const Answers made = answers(way);
    ASSERT_EQ(made.size(), right_.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < made.size(); ++i) different += made[i] == right_[i] ? 0 : 1;
    EXPECT_EQ(different, 0U) << "batch " << way.max_batch << ", " << way.threads << " threads, "
                             << cpu::to_string(way.isa) << (way.eager ? ", eager" : "")
                             << (way.padded ? ", padded" : "");
  }

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
