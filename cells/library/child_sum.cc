#include "cells/library/child_sum.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(child_sum_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"child_sum", "tree", true, build}};

}  // namespace

Result<Cell> child_sum_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                            std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", weight = prefix + "weight",
                    children = prefix + "children", bias = prefix + "bias",
                    forget_weight = prefix + "forget_weight", forget_child = prefix + "forget_child",
                    forget_bias = prefix + "forget_bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const auto [h, c] = b.gather_all({"h", "c"});
  const ValueId z =
      b.product({{weight, x}, {children, b.segment_sum(h)}}, {.bias = bias, .width = 3 * hidden});
  const ValueId f =
      b.sigmoid(b.product({{forget_weight, x}, {forget_child, h}}, {.bias = forget_bias, .width = hidden}));
  const ValueId kept = b.segment_sum(b.mul(f, c));
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 1, hidden));
  publish_lstm(b, lstm_gate(b, z, 2, hidden), b.mul_add(i, g, kept));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kChildSumCells;
const std::span<const CellKind> kChildSumCells = kKinds;

}  // namespace volvox
