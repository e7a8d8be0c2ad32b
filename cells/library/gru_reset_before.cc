#include "cells/library/gru_reset_before.h"

#include "cells/ir/cell_builder.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(gru_reset_before_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"gru_reset_before", "chain", true, build}};

}  // namespace

Result<Cell> gru_reset_before_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                   std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", bias = prefix + "bias",
                    weight_ih = prefix + "weight_ih", weight_gates = prefix + "weight_gates",
                    weight_new = prefix + "weight_new";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const ValueId h = b.gather(0, "h");
  const ValueId of_x = b.product({{weight_ih, x}}, {.bias = bias, .width = 3 * hidden});
  const ValueId gates =
      b.sigmoid(b.product({{weight_gates, h}}, {.value = b.slice(of_x, 0, 2 * hidden), .width = 2 * hidden}));
  const ValueId r = b.slice(gates, 0, hidden), z = b.slice(gates, hidden, 2 * hidden);
  const ValueId n = b.tanh(b.product({{weight_new, b.mul(r, h)}},
                                     {.value = b.slice(of_x, 2 * hidden, 3 * hidden), .width = hidden}));
  const ValueId next = b.mul_add(z, b.apply("sub", {h, n}), n);
  b.scatter("h", next);
  b.push("h", next);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kGruResetBeforeCells;
const std::span<const CellKind> kGruResetBeforeCells = kKinds;

}  // namespace volvox
