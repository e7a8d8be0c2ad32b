#include "cells/library/tree_gru.h"

#include "cells/ir/cell_builder.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(tree_gru_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"tree_gru", "tree", true, build}};

}  // namespace

Result<Cell> tree_gru_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                           std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), prefix + "embedding", sizes.input);
  const ValueId h = b.gather_all("h");
  const auto gate = [&](const std::string& which, const char* of_child, ValueId child) {
    const std::string weight = prefix + which + "weight", children = prefix + which + of_child,
                      bias = prefix + which + "bias";
    return b.product({{weight, x}, {children, child}}, {.bias = bias, .width = sizes.hidden});
  };
  const ValueId sum = b.segment_sum(h);
  const ValueId z = b.sigmoid(gate("update_", "children", sum));
  const ValueId r = b.sigmoid(gate("reset_", "child", h));
  const ValueId n = b.tanh(gate("", "children", b.segment_sum(b.mul(r, h))));
  const ValueId next = b.mul_add(z, b.apply("sub", {sum, n}), n);
  b.scatter("h", next);
  b.push("h", next);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kTreeGruCells;
const std::span<const CellKind> kTreeGruCells = kKinds;

}  // namespace volvox
