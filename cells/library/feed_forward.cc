#include "cells/library/feed_forward.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/layers.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build_dense(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                      std::string_view model) {
  return only(dense_cell(name, sizes, weights, model));
}
Result<std::vector<Cell>> build_highway(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                        std::string_view model) {
  return only(highway_cell(name, sizes, weights, model));
}
Result<std::vector<Cell>> build_max_pooling(std::string_view name, const CellSizes& sizes, const Weights*,
                                            std::string_view) {
  return only(max_pooling_cell(name, sizes));
}
Result<std::vector<Cell>> build_cosine(std::string_view name, const CellSizes& sizes, const Weights*,
                                       std::string_view) {
  return only(cosine_cell(name, sizes));
}

constexpr CellKind kKinds[] = {{"dense", "lanes", true, build_dense},
                               {"highway", "lanes", true, build_highway},
                               {"max_pooling", "lanes", true, build_max_pooling},
                               {"cosine", "lanes", true, build_cosine}};

void publish(CellBuilder& b, ValueId h) {
  b.scatter("h", h);
  b.push("h", h);
}

}  // namespace

Result<Cell> dense_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                        std::string_view model) {
  const std::string weight = std::string(name) + ".weight", bias = std::string(name) + ".bias";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = layer_input(b, 1, sizes.input);
  publish(b, b.apply("relu", {b.product({{weight, x}}, {.bias = bias, .width = sizes.hidden})}));
  return b.build(weights, model);
}

Result<Cell> highway_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                          std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string weight = prefix + "weight", bias = prefix + "bias", gate = prefix + "gate",
                    gate_bias = prefix + "gate_bias";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = layer_input(b, 1, sizes.hidden);
  const ValueId made = b.apply("relu", {b.product({{weight, x}}, {.bias = bias, .width = sizes.hidden})});
  const ValueId t = b.sigmoid(b.product({{gate, x}}, {.bias = gate_bias, .width = sizes.hidden}));
  publish(b, b.mul_add(t, b.apply("sub", {made, x}), x));
  return b.build(weights, model);
}

Result<Cell> max_pooling_cell(std::string_view name, const CellSizes& sizes) {
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  publish(b, b.apply("segment_max", {b.gather_all("h")}));
  return b.build();
}

Result<Cell> cosine_cell(std::string_view name, const CellSizes& sizes) {
  CellBuilder b{std::string(name)};
  const ValueId one = b.gather(1, "h", Shape{sizes.hidden}), other = b.gather(2, "h", Shape{sizes.hidden});
  const auto norm = [&](ValueId x) { return b.apply("sqrt", {b.apply("dot", {x, x})}); };
  const ValueId norms = b.apply("max", {b.mul(norm(one), norm(other)), b.constant(1e-8)});
  b.push("similarity", b.apply("div", {b.apply("dot", {one, other}), norms}));
  return b.build();
}

extern const std::span<const CellKind> kFeedForwardCells;
const std::span<const CellKind> kFeedForwardCells = kKinds;

}  // namespace volvox
