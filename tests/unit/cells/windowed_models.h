#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/model/assemble.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox::testing_cells {

// What a step sees of its input, and how much of that is new: `hop` rows of `inner` numbers of `window`.
struct Overlap {
  std::int64_t window = 6, hop = 4;
  Shape sample{};     // inner
  bool ones = false;  // the cell reads it with a one in front

  std::int64_t inner() const { return elements(sample); }
  Shape seen() const {
    Shape shape = ones ? Shape{1, window} : Shape{window};
    shape.insert(shape.end(), sample.begin(), sample.end());
    return shape;
  }
};

// A small recurrent cell over a window: it emits tanh of a product with all of it and with its last state.
inline std::shared_ptr<const Cell> hearing_cell(const Overlap& overlap) {
  const std::int64_t width = overlap.window * overlap.inner();
  CellBuilder b("hear");
  b.state({"h", {5}});
  const ValueId seen = b.pull("x", DType::kF32, overlap.seen());
  const bool vector = overlap.seen().size() == 1;  // which no device needs to reshape
  const ValueId flat = vector ? seen : b.reshape(seen, {width});
  const ValueId h = b.gather(0, "h");
  const ValueId next =
      b.tanh(b.product({{"hear.in", flat}, {"hear.state", h}}, {.bias = "hear.bias", .width = 5}));
  b.scatter("h", next);
  b.push("y", next);
  return std::make_shared<const Cell>(b.build().value());
}

inline Weights hearing_weights(const Overlap& overlap) {
  Random random(9);
  WeightsMaker maker;
  maker.add_random("hear.in", {5, overlap.window * overlap.inner()}, random)
      .add_random("hear.state", {5, 5}, random)
      .add_random("hear.bias", {5}, random);
  return maker.weights();
}

// The model whose clients send the new samples of each step, or those that send all that it sees.
inline std::shared_ptr<const Model> hearing_model(const Overlap& overlap, bool windowed,
                                                  LoadOptions options = {}) {
  ModelDefinition definition{.name = "hear"};
  definition.cells.push_back({.line = 3, .name = "hear", .kind = std::string(kFileCell)});
  definition.cells.back().given = hearing_cell(overlap);
  InputDefinition input{.line = 7, .name = "x", .dtype = DType::kF32, .shape = overlap.seen()};
  if (windowed) {
    input.shape = overlap.sample;
    input.window = overlap.window;
    input.hop = overlap.hop;
  }
  definition.inputs.push_back(std::move(input));
  definition.outputs.push_back({.line = 9, .name = "y", .every = true});
  auto model = assemble(definition, hearing_weights(overlap), options, "model.toml");
  EXPECT_TRUE(model) << model.error().message;
  return model ? std::make_shared<const Model>(std::move(*model)) : nullptr;
}

// What a client of the other model sends: all that each step sees of a stream of whole hops.
inline std::vector<float> by_hand(const Overlap& overlap, const std::vector<float>& stream) {
  const auto inner = static_cast<std::size_t>(overlap.inner());
  const std::size_t hop = static_cast<std::size_t>(overlap.hop) * inner;
  const std::size_t window = static_cast<std::size_t>(overlap.window) * inner;
  std::vector<float> padded(window - hop, 0.0F), rows;
  padded.insert(padded.end(), stream.begin(), stream.end());
  for (std::size_t at = 0; at + window <= padded.size(); at += hop)
    rows.insert(rows.end(), padded.begin() + static_cast<std::ptrdiff_t>(at),
                padded.begin() + static_cast<std::ptrdiff_t>(at + window));
  return rows;
}

inline const std::vector<Overlap>& overlaps() {
  static const std::vector<Overlap> all{{6, 5},      {6, 4},         {6, 3},           {6, 1},
                                        {2, 1},      {9, 2},         {6, 4, {}, true}, {4, 1, {3}},
                                        {4, 3, {3}}, {4, 2, {2, 3}}, {3, 1, {2}, true}};
  return all;
}

}  // namespace volvox::testing_cells
