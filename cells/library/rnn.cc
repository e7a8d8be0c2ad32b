#include "cells/library/rnn.h"

#include "cells/ir/cell_builder.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build_tanh(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                     std::string_view model) {
  return only(rnn_cell(name, "tanh", sizes, weights, model));
}
Result<std::vector<Cell>> build_relu(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                     std::string_view model) {
  return only(rnn_cell(name, "relu", sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"rnn", "chain", true, build_tanh}, {"rnn_relu", "chain", true, build_relu}};

}  // namespace

Result<Cell> rnn_cell(std::string_view name, std::string_view activation, const CellSizes& sizes,
                      const Weights* weights, std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", bias = prefix + "bias",
                    weight_ih = prefix + "weight_ih", weight_hh = prefix + "weight_hh";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const ValueId z =
      b.product({{weight_ih, x}, {weight_hh, b.gather(0, "h")}}, {.bias = bias, .width = sizes.hidden});
  const ValueId h = b.apply(activation, {z});
  b.scatter("h", h);
  b.push("h", h);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kRnnCells;
const std::span<const CellKind> kRnnCells = kKinds;

}  // namespace volvox
