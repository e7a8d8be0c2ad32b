#include "cells/library/tree_fc.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_pairs.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return both(tree_fc_leaf_cell(std::string(name) + ".leaf", name, sizes, weights, model),
              tree_fc_internal_cell(std::string(name) + ".internal", name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"tree_fc", "tree", true, build}};

void publish(CellBuilder& b, ValueId sum) {
  const ValueId h = b.apply("relu", {sum});
  b.scatter("h", h);
  b.push("h", h);
}

}  // namespace

Result<Cell> tree_fc_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                               const Weights* weights, std::string_view model) {
  const std::string leaf = std::string(prefix) + ".leaf.";
  const std::string weight = leaf + "weight", bias = leaf + "bias";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), leaf + "embedding", sizes.input);
  publish(b, b.product({{weight, x}}, {.bias = bias, .width = sizes.hidden}));
  return b.build(weights, model);
}

Result<Cell> tree_fc_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                   const Weights* weights, std::string_view model) {
  const std::string internal = std::string(prefix) + ".internal.";
  const std::string left = internal + "left", right = internal + "right", bias = internal + "bias";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId h0 = b.gather(0, "h"), h1 = b.gather(1, "h");
  publish(b, b.product({{left, h0}, {right, h1}}, {.bias = bias, .width = sizes.hidden}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kTreeFcCells;
const std::span<const CellKind> kTreeFcCells = kKinds;

}  // namespace volvox
