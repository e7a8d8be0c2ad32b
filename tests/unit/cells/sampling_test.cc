// Draws by counter, and the decoder that makes them.
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "cells/ops/philox.h"
#include "repository/kinds/model_kind.h"
#include "repository/seeded_weights.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using Words = std::array<std::uint32_t, 4>;
using Ints = std::vector<std::int32_t>;

// The known answers that Random123 comes with.
TEST(Philox, IsThatOfItsAuthors) {
  constexpr std::uint32_t kOnes = ~0U;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// A sampling decoder of this kind, with its weights.
class Sampler {
 public:
  explicit Sampler(std::int64_t top_k, double temperature = 1) {
    constexpr NewSizes kSizes{.hidden = 8, .input = 6, .vocabulary = 12, .steps = 20, .seed = 5};
    ModelDefinition definition = find_model_kind("sampling_seq2seq")->define(kSizes, false);
    definition.name = "sampler";
    definition.cells[1].top_k = top_k;
    definition.cells[1].temperature = temperature;
    const SeededWeights seeded = SeededWeights::make(definition, kSizes).value();
    testing_cells::WeightsMaker maker;
    for (const TensorSource& tensor : seeded.tensors()) {
      std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
      std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
      maker.add(tensor.name, tensor.shape, [&](std::size_t i) { return numbers[i]; });
    }
    auto model = assemble(definition, maker.weights(), {.eager = false}, "sampler");
    EXPECT_TRUE(model) << model.error().message;
    auto reference = Reference::make(std::make_shared<const Model>(std::move(*model)));
    reference_.emplace(std::move(*reference));
  }

  Ints say(const Ints& tokens, std::int32_t seed) {
    const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(tokens)),
                                                         std::as_bytes(std::span(&seed, 1))};
    const auto answer = reference_->run(inputs, ChainStructure{static_cast<std::uint32_t>(tokens.size())});
    EXPECT_TRUE(answer) << answer.error().message;
    Ints said((*answer)[0].bytes.size() / sizeof(std::int32_t));
    std::memcpy(said.data(), (*answer)[0].bytes.data(), (*answer)[0].bytes.size());
    return said;
  }

 private:
  std::optional<Reference> reference_;
};

TEST(Sampling, SaysTheSameForASeedAndOtherThingsForOthers) {
  Sampler sampler(12);
  std::set<Ints> said;
  for (std::int32_t seed = -10; seed < 10; ++seed) {
    const Ints first = sampler.say({3, 1, 4}, seed);
    EXPECT_EQ(sampler.say({3, 1, 4}, seed), first);
    said.insert(first);
  }
  EXPECT_GT(said.size(), 15U);
}

TEST(Sampling, OfTheLikeliestAloneIsGreedy) {
  Sampler one(1), cold(12, 1e-3);
  const Ints greedy = one.say({3, 1, 4}, 1);
  for (std::int32_t seed = 2; seed < 8; ++seed) {
    EXPECT_EQ(one.say({3, 1, 4}, seed), greedy);
    EXPECT_EQ(cold.say({3, 1, 4}, seed), greedy);
  }
}

// The first tokens of many seeds are as often said as the decoder finds them likely: a temperature of two
// takes the square roots of what they are with one.
TEST(Sampling, DrawsTokensAsOftenAsTheyAreLikely) {
  constexpr int kDraws = 20000;
  constexpr std::size_t kTopK = 4;
  const auto shares = [&](double temperature) {
    Sampler sampler(kTopK, temperature);
    std::map<std::int32_t, double> share;
    for (std::int32_t seed = 0; seed < kDraws; ++seed) share[sampler.say({3}, seed)[0]] += 1.0 / kDraws;
    return share;
  };
  const auto warm = shares(2), usual = shares(1);
  EXPECT_EQ(warm.size(), kTopK);
  double sum = 0;
  for (const auto& [token, share] : usual) sum += std::sqrt(share);
  for (const auto& [token, share] : usual) EXPECT_NEAR(warm.at(token), std::sqrt(share) / sum, 0.02) << token;
}

TEST(Sampling, MoreTokensThanThereAreIsRefused) {
  ModelDefinition definition =
      find_model_kind("sampling_seq2seq")->define({.hidden = 2, .input = 2, .vocabulary = 3}, false);
  definition.cells[1].top_k = 4;
  EXPECT_FALSE(SeededWeights::make(definition, {.hidden = 2, .input = 2, .vocabulary = 3}));
}

}  // namespace
}  // namespace volvox
