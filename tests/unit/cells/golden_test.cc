// The reference against PyTorch: the programs in tests/golden made the answers and have the same weights.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/ir/cell_builder.h"
#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/golden_weights.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using Json = nlohmann::json;

std::string layer_name(std::int64_t layer) {
  return "layer" + std::to_string(layer);
}

Weights golden_weights(const Json& sizes) {
  const std::int64_t input = sizes["input"], hidden = sizes["hidden"], layers = sizes["layers"];
  GoldenWeights maker;
  const auto add = [&](const std::string& name, Shape shape, std::uint32_t tensor) {
    maker.add(name, std::move(shape), tensor);
  };
  add("layer0.embedding", {sizes["vocabulary"], input}, 0);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto first = static_cast<std::uint32_t>(1 + 3 * layer);
    add(layer_name(layer) + ".weight_ih", {4 * hidden, layer == 0 ? input : hidden}, first);
    add(layer_name(layer) + ".weight_hh", {4 * hidden, hidden}, first + 1);
    add(layer_name(layer) + ".bias", {4 * hidden}, first + 2);
  }
  return maker.weights();
}

// One layer as a chain, or as many as there are as lanes, each over the one before.
ModelDefinition golden_definition(const Json& sizes, bool lanes) {
  const std::int64_t input = sizes["input"], hidden = sizes["hidden"], layers = sizes["layers"];
  ModelDefinition definition{.name = "golden"};
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "h"});
  definition.cells.push_back({.name = "layer0", .kind = "lstm", .input = input, .hidden = hidden});
  if (!lanes) return definition;
  definition.unfolding = "lanes";
  definition.lanes.push_back({.cell = "layer0"});
  for (std::int64_t layer = 1; layer < layers; ++layer) {
    definition.cells.push_back(
        {.name = layer_name(layer), .kind = "lstm_layer", .input = hidden, .hidden = hidden});
    definition.lanes.push_back({.cell = layer_name(layer), .from = {layer_name(layer - 1)}});
  }
  definition.lanes.back().push = {"h"};
  return definition;
}

std::shared_ptr<const Model> golden_model(const Json& sizes, bool lanes, bool eager) {
  Result<Model> model =
      assemble(golden_definition(sizes, lanes), golden_weights(sizes), {.eager = eager}, "golden");
  EXPECT_TRUE(model) << model.error().message;
  return std::make_shared<const Model>(std::move(*model));
}

void expect_golden(const Json& sizes, std::shared_ptr<const Model> model) {
  Result<Reference> reference = Reference::make(std::move(model));
  ASSERT_TRUE(reference) << reference.error().message;
  ASSERT_GE(sizes["sequences"].size(), 5U);
  for (const Json& sequence : sizes["sequences"]) {
    const auto tokens = sequence["tokens"].get<std::vector<std::int32_t>>();
    const auto wanted = sequence["h"].get<std::vector<double>>();
    const auto answer = reference->run(tokens);
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ((*answer)[0].reals.size(), wanted.size());
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      EXPECT_NEAR((*answer)[0].reals[j], wanted[j], 1e-12) << tokens.size() << " steps, element " << j;
    }
  }
}

TEST(Golden, ReferenceAgreesWithPyTorch) {
  std::ifstream file(VOLVOX_GOLDEN_DIR "/lstm.json");
  const Json golden = Json::parse(file, nullptr, false);
  ASSERT_TRUE(golden.is_object()) << "lstm.json cannot be read";
  ASSERT_EQ(golden["models"].size(), 3U);
  for (const Json& sizes : golden["models"]) {
    for (const bool eager : {false, true}) {
      if (sizes["layers"] == 1) expect_golden(sizes, golden_model(sizes, false, eager));
      expect_golden(sizes, golden_model(sizes, true, eager));
    }
  }
}

std::shared_ptr<const Model> golden_gru(const Json& sizes, bool eager) {
  const std::int64_t input = sizes["input"], hidden = sizes["hidden"];
  GoldenWeights maker;
  const auto add = [&](const std::string& name, Shape shape, std::uint32_t tensor) {
    maker.add(name, std::move(shape), tensor);
  };
  add("gru.embedding", {sizes["vocabulary"], input}, 0);
  add("gru.weight_ih", {3 * hidden, input}, 1);
  add("gru.weight_hh", {3 * hidden, hidden}, 2);
  add("gru.bias_ih", {3 * hidden}, 3);
  add("gru.bias_hh", {3 * hidden}, 4);
  ModelDefinition definition{.name = "golden"};
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "h"});
  definition.cells.push_back({.name = "gru", .kind = "gru", .input = input, .hidden = hidden});
  Result<Model> model = assemble(definition, maker.weights(), {.eager = eager}, "golden");
  EXPECT_TRUE(model) << model.error().message;
  return std::make_shared<const Model>(std::move(*model));
}

TEST(Golden, GruAgreesWithPyTorch) {
  std::ifstream file(VOLVOX_GOLDEN_DIR "/gru.json");
  const Json golden = Json::parse(file, nullptr, false);
  ASSERT_TRUE(golden.is_object()) << "gru.json cannot be read";
  ASSERT_EQ(golden["models"].size(), 2U);
  for (const Json& sizes : golden["models"]) {
    for (const bool eager : {false, true}) expect_golden(sizes, golden_gru(sizes, eager));
  }
}

Convolution convolution_of(const Json& sizes) {
  Convolution c;
  c.channels = sizes["channels"];
  c.height = sizes["height"];
  c.width = sizes["width"];
  c.kernels = sizes["kernels"];
  c.kernel_height = sizes["kernel_height"];
  c.kernel_width = sizes["kernel_width"];
  c.stride = sizes["stride"];
  c.padding = sizes["padding"];
  return c;
}

TEST(Golden, ConvolutionsAgreeWithPyTorch) {
  std::ifstream file(VOLVOX_GOLDEN_DIR "/convolution.json");
  const Json golden = Json::parse(file, nullptr, false);
  ASSERT_TRUE(golden.is_object()) << "convolution.json cannot be read";
  ASSERT_GE(golden["cases"].size(), 5U);
  for (const Json& sizes : golden["cases"]) {
    const Convolution c = convolution_of(sizes);
    testing_cells::WeightsMaker maker;
    maker.add("kernels", c.weight_shape(), [](std::size_t i) { return golden_weight(1, i); });
    maker.add("bias", {c.kernels}, [](std::size_t i) { return golden_weight(3, i); });
    const Weights weights = maker.weights();
    CellBuilder b("convolution");
    b.push("y", b.convolution(b.pull("x", DType::kF32, {c.inputs()}), "kernels", c, "bias"));
    testing_cells::RowRunner<double> runner(b.build(&weights).value(), weights);
    std::vector<float> x(static_cast<std::size_t>(c.inputs()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = golden_weight(0, i);
    const auto y = testing_cells::values_of<double>(runner.run({}, {x.data()}).pushes.at("y"));
    const auto wanted = sizes["y"].get<std::vector<double>>();
    ASSERT_EQ(y.size(), wanted.size()) << sizes;
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], wanted[i], 1e-12) << sizes << ", element " << i;
  }
}

}  // namespace
}  // namespace volvox
