#include "cpu/cpu_device.h"

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"
#include "cells/library/noop.h"
#include "chain_fixture.h"

namespace volvox::cpu {
namespace {

using Results = std::vector<std::vector<std::byte>>;

Results run_lstm(CpuOptions options, std::int64_t hidden, bool eager, const std::vector<Tokens>& sequences) {
  const Weights weights = lstm_weights(hidden + 1, hidden);
  ChainRunner runner(options);
  runner.load(lstm_cell("lstm", {hidden + 1, hidden}, &weights).value(), weights, eager);
  return runner.run(sequences);
}

// The last h of a chain in double precision.
std::vector<double> exact_chain(const Weights& weights, std::int64_t input, std::int64_t hidden,
                                const Tokens& tokens) {
  const float* table = weights.find("lstm.embedding")->f32();
  const float* w = weights.find("lstm.weight_ih")->f32();
  const float* u = weights.find("lstm.weight_hh")->f32();
  const float* bias = weights.find("lstm.bias")->f32();
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  std::vector<double> h(static_cast<std::size_t>(hidden)), c(h.size()), z(4 * h.size());
  for (std::int32_t token : tokens) {
    for (std::size_t o = 0; o < z.size(); ++o) {
      z[o] = bias[o];
      for (std::int64_t k = 0; k < input; ++k) {
        z[o] += double{w[static_cast<std::int64_t>(o) * input + k]} * table[token * input + k];
      }
      for (std::size_t k = 0; k < h.size(); ++k) z[o] += double{u[o * h.size() + k]} * h[k];
    }
    for (std::size_t i = 0; i < h.size(); ++i) {
      c[i] = sigmoid(z[h.size() + i]) * c[i] + sigmoid(z[i]) * std::tanh(z[2 * h.size() + i]);
      h[i] = sigmoid(z[3 * h.size() + i]) * std::tanh(c[i]);
    }
  }
  return h;
}

TEST(CpuDevice, RunsChainsAsDoublePrecisionDoes) {
  const auto sequences = random_sequences(60, 12);
  for (std::int64_t hidden : {1, 7, 16, 33, 64}) {
    const Weights weights = lstm_weights(hidden + 1, hidden);
    const Results results = run_lstm({}, hidden, false, sequences);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto want = exact_chain(weights, hidden + 1, hidden, sequences[i]);
      const auto got = floats(results[i]);
      for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], want[k], 1e-5);
    }
  }
}

TEST(CpuDevice, AnswersAreTheSameBitsHoweverTheyAreComputed) {
  const auto sequences = random_sequences(70, 9);
  for (std::int64_t hidden : {1, 7, 16, 33, 64, 100}) {
    const Results want = run_lstm({}, hidden, false, sequences);
    for (Isa isa : supported_isas()) {
      for (std::uint32_t threads : {1U, 2U}) {
        for (bool fuse : {true, false}) {
          for (bool eager : {true, false}) {
            const CpuOptions options{.isa = isa, .threads = threads, .measure = false, .fuse = fuse};
            ASSERT_EQ(run_lstm(options, hidden, eager, sequences), want)
                << to_string(isa) << ", hidden " << hidden << ", " << threads << " threads, fuse " << fuse
                << ", eager " << eager;
          }
        }
      }
    }
  }
}

TEST(CpuDevice, AnswersDoNotDependOnTheNeighbours) {
  const auto sequences = random_sequences(300, 6);
  const Weights weights = lstm_weights(20, 36);
  ChainRunner runner(CpuOptions{.threads = 2});
  runner.load(lstm_cell("lstm", {20, 36}, &weights).value(), weights);
  const Results together = runner.run(sequences);
  for (std::size_t first = 0; first < sequences.size();) {
    const std::size_t n = std::min<std::size_t>(1 + first % 23, sequences.size() - first);
    const std::vector<Tokens> group(sequences.begin() + static_cast<std::ptrdiff_t>(first),
                                    sequences.begin() + static_cast<std::ptrdiff_t>(first + n));
    const Results apart = runner.run(group);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(apart[i], together[first + i]);
    first += n;
  }
}

TEST(CpuDevice, ChoosesTheFusedKernels) {
  const Weights weights = lstm_weights(8, 8);
  ChainRunner split(CpuOptions{.isa = Isa::kPortable});
  split.load(lstm_cell("lstm", {8, 8}, &weights).value(), weights, true);
  EXPECT_EQ(split.compiled[ChainRunner::kEager].kernel, "product portable");
  EXPECT_EQ(split.compiled[ChainRunner::kEager].flops_per_row, 2.0 * 8 * 32);
  ChainRunner generic(CpuOptions{.isa = Isa::kPortable, .fuse = false});
  generic.load(lstm_cell("lstm", {8, 8}, &weights).value(), weights);
  EXPECT_EQ(generic.compiled[ChainRunner::kCell].kernel, "generic portable");
  EXPECT_EQ(generic.compiled[ChainRunner::kCell].flops_per_row, 2.0 * 16 * 32);
}

TEST(CpuDevice, HashesTokensInOrder) {
  auto sequences = random_sequences(500, 20);
  for (std::uint32_t threads : {1U, 2U}) {
    ChainRunner runner(CpuOptions{.threads = threads});
    runner.load(check_cell("check").value(), {});
    const Results results = runner.run(sequences);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::uint64_t want = 0, got = 0;
      for (std::int32_t token : sequences[i]) want = check_hash(want, static_cast<std::uint64_t>(token));
      std::memcpy(&got, results[i].data(), sizeof got);
      ASSERT_EQ(got, want);
    }
  }
}

TEST(CpuDevice, RunsNothingAtAll) {
  ChainRunner runner(CpuOptions{});
  runner.load(noop_cell("noop").value(), {});
  runner.run(random_sequences(512, 3));
  EXPECT_EQ(runner.compiled[ChainRunner::kCell].flops_per_row, 0);
}

TEST(CpuDevice, EmbedsUnknownIdsAsZeros) {
  const std::vector<Tokens> unknown = {{-1, 2}, {static_cast<std::int32_t>(kVocabulary), 2}, {INT32_MAX, 2}};
  const Results fused = run_lstm({}, 16, false, unknown);
  EXPECT_EQ(fused[0], fused[1]);
  EXPECT_EQ(fused[0], fused[2]);
  EXPECT_EQ(run_lstm({.fuse = false}, 16, false, unknown), fused);
}

TEST(CpuDevice, RefusesWhatItCannotCompile) {
  const Weights weights = lstm_weights(8, 8);
  const Cell cell = lstm_cell("lstm", {8, 8}, &weights).value();
  for (bool fuse : {true, false}) {
    const auto device = CpuDevice::make({.measure = false, .fuse = fuse}).value();
    auto compiled = device->compile(0, cell, weights, {});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().message, "cell 'lstm': there is no pool 0");
    ASSERT_TRUE(device->add_pool(0, std::span(cell.states).first(1), 10));
    EXPECT_FALSE(device->compile(0, cell, weights, {}));
    EXPECT_FALSE(device->add_pool(0, cell.states, 10));
    ASSERT_TRUE(device->add_pool(1, cell.states, 10));
    const CompileOptions options{.out_pool = 1, .gather_pools = {1}};
    auto missing = device->compile(0, cell, {}, options);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("there is no weight 'lstm."), std::string::npos);
    auto wrong = device->compile(0, cell, lstm_weights(9, 8), options);
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("expected f32"), std::string::npos) << wrong.error().message;
    EXPECT_TRUE(device->compile(0, cell, weights, options));
    EXPECT_FALSE(device->compile(0, cell, weights, options)) << "the type exists already";
  }
}

TEST(CpuDevice, BoundsItsMemory) {
  const auto device = CpuDevice::make({.memory_bytes = 1 << 20}).value();
  const StateKind kind{.name = "h", .shape = {256}};
  EXPECT_TRUE(device->add_pool(0, {&kind, 1}, 1000));
  auto refused = device->add_pool(1, {&kind, 1}, 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  device->remove_pool(0);
  // 4·128 outputs of 256 numbers each take half of it.
  const Weights weights = lstm_weights(128, 128);
  const Cell cell = lstm_cell("lstm", {128, 128}, &weights).value();
  ASSERT_TRUE(device->add_pool(0, cell.states, 100));
  ASSERT_TRUE(device->compile(0, cell, weights, {.max_batch = 1}));
  auto second = device->compile(1, cell, weights, {.max_batch = 1});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kOverloaded);
  device->remove_type(0);
  EXPECT_TRUE(device->compile(1, cell, weights, {.max_batch = 1}));
}

}  // namespace
}  // namespace volvox::cpu
