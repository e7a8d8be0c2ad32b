// Models of several lanes: the same bits in whatever company, and the right ones.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "cells/model/reference.h"
#include "tests/unit/simulation/models.h"
#include "tests/unit/simulation/random_ways.h"

namespace volvox {
namespace {

using Load = std::function<std::shared_ptr<const Model>(const LoadOptions&)>;

std::vector<ChainContent> random_contents(const Model& model, std::size_t count, SeededRandom& chance) {
  std::vector<ChainContent> contents;
  while (contents.size() < count)
    contents.push_back(random_content(model, 1 + static_cast<std::uint32_t>(chance.below(15)), chance));
  return contents;
}

class LanesIdentity : public ::testing::Test {
 protected:
  void check(const Load& load, int ways, std::size_t count, std::uint64_t seed) {
    SeededRandom chance(seed);
    const auto model = load({.eager = false});
    const auto contents = random_contents(*model, count, chance);
    const Answers right = answers_in({.max_batch = 1, .in_flight = 1, .eager = false}, load, contents);
    ASSERT_EQ(right.size(), contents.size());
    for (int i = 0; i < ways; ++i) {
      const Way way = random_way(chance);
      expect_same_answers(answers_in(way, load, contents), right, way);
    }
    expect_right(model, contents, right);
  }

  // Reals nearly as the reference has them, ids exactly; zeros behind the end of a sequence.
  static void expect_right(const std::shared_ptr<const Model>& model, std::span<const ChainContent> contents,
                           const Answers& answers) {
    InstalledModel installed;
    installed.model = model;
    auto reference = Reference::make(model);
    ASSERT_TRUE(reference) << reference.error().message;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const std::span<const std::byte> input = contents[i].inputs[0];
      const auto exact = reference->run(std::span(&input, 1));
      ASSERT_TRUE(exact) << exact.error().message;
      for (std::size_t output = 0; output < model->outputs.size(); ++output) {
        const std::size_t at = result_offset(installed, lengths_for(*model, contents[i].length), output);
        expect_output((*exact)[output], answers[i].data() + at);
      }
    }
  }
  static void expect_output(const ReferenceOutput& exact, const std::byte* answer) {
    for (std::size_t k = 0; k < exact.reals.size(); ++k) {
      float value = 0;
      std::memcpy(&value, answer + k * sizeof value, sizeof value);
      ASSERT_NEAR(value, exact.reals[k], 1e-5) << k;
    }
    ASSERT_TRUE(std::equal(exact.bytes.begin(), exact.bytes.end(), answer));
  }

  ModelFolder folder_;
};

TEST_F(LanesIdentity, BothDirections) {
  for (const std::uint32_t layers : {1U, 2U, 3U}) {
    const NewSizes sizes{.hidden = 13, .input = 9, .vocabulary = 50, .layers = layers};
    check([&](const LoadOptions& options) { return folder_.bidirectional(sizes, options); }, 12, 120, layers);
  }
}

// Of weights with which some decoders end early and others do not.
constexpr std::uint64_t kMixedSeed = 16;

TEST_F(LanesIdentity, Decoders) {
  for (const std::uint32_t vocabulary : {8U, 60U}) {
    const NewSizes sizes{
        .hidden = 21, .input = 17, .vocabulary = vocabulary, .steps = 30, .seed = kMixedSeed};
    check([&](const LoadOptions& options) { return folder_.seq2seq(sizes, options); }, 12, 150, vocabulary);
  }
}

// Otherwise the test above would not see what a decoder's end does.
TEST_F(LanesIdentity, SomeDecodersEndEarlyAndOthersDoNot) {
  const auto model =
      folder_.seq2seq({.hidden = 21, .input = 17, .vocabulary = 8, .steps = 30, .seed = kMixedSeed});
  auto reference = Reference::make(model);
  ASSERT_TRUE(reference);
  SeededRandom chance(8);
  int early = 0, late = 0;
  for (const ChainContent& content : random_contents(*model, 100, chance)) {
    const std::span<const std::byte> input = content.inputs[0];
    const auto answer = reference->run(std::span(&input, 1));
    ASSERT_TRUE(answer) << answer.error().message;
    ((*answer)[0].bytes.size() < 30 * sizeof(std::int32_t) ? early : late) += 1;
  }
  EXPECT_GT(early, 10);
  EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace volvox
