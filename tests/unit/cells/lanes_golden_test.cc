// Models of several lanes against PyTorch: tests/golden/make_lanes_golden.py made the answers.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "tests/unit/cells/golden_weights.h"

namespace volvox {
namespace {

using Json = nlohmann::json;

Json golden() {
  std::ifstream file(VOLVOX_GOLDEN_DIR "/lanes.json");
  return Json::parse(file, nullptr, false);
}

Result<Reference> reference_of(const ModelDefinition& definition, const GoldenWeights& weights, bool eager) {
  Result<Model> model = assemble(definition, weights.weights(), {.eager = eager}, "golden");
  if (!model) return tl::unexpected(model.error());
  return Reference::make(std::make_shared<const Model>(std::move(*model)));
}

std::string name_of(std::int64_t layer, bool back) {
  return "layer" + std::to_string(layer) + (back ? "_back" : "");
}

Result<Reference> bidirectional(const Json& sizes, bool eager) {
  const std::int64_t input = sizes["input"], hidden = sizes["hidden"], layers = sizes["layers"];
  GoldenWeights weights;
  ModelDefinition definition{.name = "golden", .unfolding = "lanes"};
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs = {{.name = "h", .every = true}, {.name = "h_back", .every = true}};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const bool back : {false, true}) {
      const std::string name = name_of(layer, back);
      const auto first = static_cast<std::uint32_t>(1 + 6 * layer + (back ? 3 : 0));
      weights.add_lstm(name, layer == 0 ? input : 2 * hidden, hidden, first);
      if (layer == 0) weights.add(name + ".embedding", {sizes["vocabulary"], input}, 0);
      definition.cells.push_back({.name = name,
                                  .kind = layer == 0 ? "lstm" : "lstm_layer_2",
                                  .input = layer == 0 ? input : hidden,
                                  .hidden = hidden});
      LaneDefinition lane{.cell = name, .reverse = back};
      if (layer > 0) lane.from = {name_of(layer - 1, false), name_of(layer - 1, true)};
      if (layer + 1 == layers) lane.push = {back ? "h_back" : "h"};
      definition.lanes.push_back(lane);
    }
  }
  return reference_of(definition, weights, eager);
}

void expect_near(const std::vector<double>& found, const Json& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i].get<double>(), 1e-12) << i;
}

TEST(LanesGolden, BothDirectionsAgreeWithPyTorch) {
  const Json all = golden();
  ASSERT_TRUE(all.is_object()) << "lanes.json cannot be read";
  ASSERT_EQ(all["bidirectional"].size(), 2U);
  for (const Json& sizes : all["bidirectional"]) {
    for (const bool eager : {false, true}) {
      auto reference = bidirectional(sizes, eager);
      ASSERT_TRUE(reference) << reference.error().message;
      ASSERT_GE(sizes["sequences"].size(), 5U);
      for (const Json& sequence : sizes["sequences"]) {
        const auto answer = reference->run(sequence["tokens"].get<std::vector<std::int32_t>>());
        ASSERT_TRUE(answer) << answer.error().message;
        expect_near((*answer)[0].reals, sequence["h"]);
        expect_near((*answer)[1].reals, sequence["h_back"]);
      }
    }
  }
}

Result<Reference> seq2seq(const Json& sizes, bool eager) {
  const std::int64_t input = sizes["input"], hidden = sizes["hidden"], vocabulary = sizes["vocabulary"];
  GoldenWeights weights;
  weights.add_lstm("encoder", input, hidden, 1)
      .add_lstm("decoder", input, hidden, 4)
      .add("encoder.embedding", {vocabulary, input}, 0)
      .add("decoder.embedding", {vocabulary, input}, 0)
      .add("decoder.output", {vocabulary, hidden}, 7, 4.0F)
      .add("decoder.output_bias", {vocabulary}, 8, 0.25F);
  ModelDefinition definition{.name = "golden", .unfolding = "lanes"};
  definition.cells = {
      {.name = "encoder", .kind = "lstm", .input = input, .hidden = hidden},
      {.name = "decoder", .kind = "lstm_decoder", .input = input, .hidden = hidden, .start = 1}};
  definition.lanes = {{.cell = "encoder"},
                      {.cell = "decoder", .initial = "encoder", .over = "target", .push = {"said"}}};
  definition.sequences = {{.name = "target", .max_length = sizes["steps"], .until = "said", .equals = 0}};
  definition.inputs = {{.name = "tokens"}};
  definition.outputs = {{.name = "said", .every = true}};
  return reference_of(definition, weights, eager);
}

std::vector<std::int32_t> ids(const ReferenceOutput& output) {
  std::vector<std::int32_t> values(output.bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

TEST(LanesGolden, GreedyDecodersAgreeWithPyTorch) {
  const Json all = golden();
  ASSERT_TRUE(all.is_object()) << "lanes.json cannot be read";
  ASSERT_EQ(all["seq2seq"].size(), 2U);
  int ended = 0, cut = 0;
  for (const Json& sizes : all["seq2seq"]) {
    for (const bool eager : {false, true}) {
      auto reference = seq2seq(sizes, eager);
      ASSERT_TRUE(reference) << reference.error().message;
      for (const Json& sequence : sizes["sequences"]) {
        const auto answer = reference->run(sequence["tokens"].get<std::vector<std::int32_t>>());
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(ids((*answer)[0]), sequence["translation"].get<std::vector<std::int32_t>>());
        (ids((*answer)[0]).back() == 0 ? ended : cut) += 1;
      }
    }
  }
  EXPECT_GT(ended, 0) << "no decoder ended by itself";
  EXPECT_GT(cut, 0) << "no decoder reached its last step";
}

}  // namespace
}  // namespace volvox
