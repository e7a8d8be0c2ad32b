#include "cells/library/mv_rnn.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_pairs.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return both(mv_rnn_leaf_cell(std::string(name) + ".leaf", name, sizes, weights, model),
              mv_rnn_internal_cell(std::string(name) + ".internal", name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"mv_rnn", "tree", true, build}};

void declare(CellBuilder& b, std::int64_t hidden) {
  b.state({.name = "h", .shape = {hidden}}).state({.name = "matrix", .shape = {hidden, hidden}});
}

void publish(CellBuilder& b, ValueId h, ValueId matrix) {
  b.scatter("h", h);
  b.scatter("matrix", matrix);
  b.push("h", h);
}

}  // namespace

Result<Cell> mv_rnn_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                              const Weights* weights, std::string_view model) {
  const std::string leaf = std::string(prefix) + ".leaf.";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare(b, hidden);
  const ValueId token = b.pull("token", DType::kI32);
  const ValueId h = b.embed(token, leaf + "embedding", hidden);
  publish(b, h, b.reshape(b.embed(token, leaf + "matrices", hidden * hidden), {hidden, hidden}));
  return b.build(weights, model);
}

Result<Cell> mv_rnn_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                  const Weights* weights, std::string_view model) {
  const std::string internal = std::string(prefix) + ".internal.";
  const std::string left = internal + "left", right = internal + "right", bias = internal + "bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare(b, hidden);
  const auto [h0, matrix0] = b.gather(0, {"h", "matrix"});
  const auto [h1, matrix1] = b.gather(1, {"h", "matrix"});
  const auto times = [&](ValueId matrix, ValueId x) {
    return b.reshape(b.apply("matmul", {matrix, b.reshape(x, {hidden, 1})}), {hidden});
  };
  const ValueId sum =
      b.product({{left, times(matrix1, h0)}, {right, times(matrix0, h1)}}, {.bias = bias, .width = hidden});
  const ValueId joined = b.apply("constant", {}, {.integers = {hidden, 2 * hidden}}, {internal + "joined"});
  const ValueId stacked = b.apply("concat_axis", {matrix0, matrix1}, {.integers = {0}});
  publish(b, b.tanh(sum), b.apply("matmul", {joined, stacked}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kMvRnnCells;
const std::span<const CellKind> kMvRnnCells = kKinds;

}  // namespace volvox
