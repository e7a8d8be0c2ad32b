#include "cells/library/lstm_projection.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_projection_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_projection", "chain", true, build}};

std::int64_t projected_width(const std::string& weight, const Weights* weights, std::int64_t otherwise) {
  const Tensor* tensor = weights == nullptr ? nullptr : weights->find(weight);
  return tensor == nullptr || tensor->shape.empty() ? otherwise : tensor->shape[0];
}

}  // namespace

Result<Cell> lstm_projection_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                  std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", bias = prefix + "bias",
                    weight_ih = prefix + "weight_ih", weight_hh = prefix + "weight_hh",
                    weight_hr = prefix + "weight_hr";
  const std::int64_t hidden = sizes.hidden, projected = projected_width(weight_hr, weights, hidden);
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {projected}}).state({.name = "c", .shape = {hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden)), f = b.sigmoid(lstm_gate(b, z, 1, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 2, hidden)), o = b.sigmoid(lstm_gate(b, z, 3, hidden));
  const ValueId next = b.mul_add(f, c, b.mul(i, g));
  const ValueId out = b.product({{weight_hr, b.mul(o, b.tanh(next))}}, {.width = projected});
  b.scatter("h", out);
  b.scatter("c", next);
  b.push("h", out);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmProjectionCells;
const std::span<const CellKind> kLstmProjectionCells = kKinds;

}  // namespace volvox
