#include "cells/library/tree_lstm.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/library/cell_pairs.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return both(tree_lstm_leaf_cell(std::string(name) + ".leaf", name, sizes, weights, model),
              tree_lstm_internal_cell(std::string(name) + ".internal", name, sizes, weights, model));
}

// With inner nodes of two kinds, `a` and `b`; a graph says which one each is.
Result<std::vector<Cell>> build_two_types(std::string_view name, const CellSizes& sizes,
                                          const Weights* weights, std::string_view model) {
  const std::string a = std::string(name) + ".a", b = std::string(name) + ".b";
  auto cells = both(tree_lstm_leaf_cell(std::string(name) + ".leaf", name, sizes, weights, model),
                    tree_lstm_internal_cell(a, a, sizes, weights, model));
  auto last = tree_lstm_internal_cell(b, b, sizes, weights, model);
  if (!cells) return cells;
  if (!last) return tl::unexpected(last.error());
  cells->push_back(std::move(*last));
  return cells;
}

constexpr CellKind kKinds[] = {{"tree_lstm", "tree", true, build},
                               {"tree_lstm_2type", "graph", true, build_two_types}};

}  // namespace

Result<Cell> tree_lstm_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                 const Weights* weights, std::string_view model) {
  const std::string leaf = std::string(prefix) + ".leaf.";
  const std::string embedding = leaf + "embedding", weight = leaf + "weight", bias = leaf + "bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const ValueId z = b.product({{weight, x}}, {.bias = bias, .width = 3 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 1, hidden));
  publish_lstm(b, lstm_gate(b, z, 2, hidden), b.mul(i, g));
  return b.build(weights, model);
}

Result<Cell> tree_lstm_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                     const Weights* weights, std::string_view model) {
  const std::string internal = std::string(prefix) + ".internal.";
  const std::string left = internal + "left", right = internal + "right", bias = internal + "bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const auto [h0, c0] = b.gather(0, {"h", "c"});
  const auto [h1, c1] = b.gather(1, {"h", "c"});
  const ValueId z = b.product({{left, h0}, {right, h1}}, {.bias = bias, .width = 5 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden));
  const ValueId f0 = b.sigmoid(lstm_gate(b, z, 1, hidden));
  const ValueId f1 = b.sigmoid(lstm_gate(b, z, 2, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 3, hidden));
  publish_lstm(b, lstm_gate(b, z, 4, hidden), b.mul_add(f0, c0, b.mul_add(f1, c1, b.mul(i, g))));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kTreeLstmCells;
const std::span<const CellKind> kTreeLstmCells = kKinds;

}  // namespace volvox
