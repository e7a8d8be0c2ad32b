#include "cells/library/mlp.h"

#include <string>

#include "cells/ir/cell_builder.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(mlp_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"mlp", "chain", true, build}};

}  // namespace

Result<Cell> mlp_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                      std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  CellBuilder b{std::string(name)};
  const auto layer = [&](const char* of, ValueId x, std::int64_t width) {
    const std::string weight = prefix + of, bias = weight + "_bias";
    return b.product({{weight, x}}, {.bias = bias, .width = width});
  };
  const ValueId x = b.pull("x", DType::kF32, {sizes.input});
  const ValueId below = b.apply("relu", {layer("first", x, sizes.hidden)});
  const ValueId above = b.apply("relu", {layer("second", below, sizes.hidden)});
  b.push("scores", layer("output", above, sizes.outputs));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kMlpCells;
const std::span<const CellKind> kMlpCells = kKinds;

}  // namespace volvox
