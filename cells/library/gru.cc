#include "cells/library/gru.h"

#include "cells/ir/cell_builder.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(gru_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"gru", "chain", true, build}};

}  // namespace

Result<Cell> gru_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                      std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", bias_ih = prefix + "bias_ih",
                    bias_hh = prefix + "bias_hh", weight_ih = prefix + "weight_ih",
                    weight_hh = prefix + "weight_hh";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const ValueId h = b.gather(0, "h");
  const ValueId of_x = b.product({{weight_ih, x}}, {.bias = bias_ih, .width = 3 * hidden});
  const ValueId of_h = b.product({{weight_hh, h}}, {.bias = bias_hh, .width = 3 * hidden});
  const auto gate = [&](ValueId from, std::int64_t number) {
    return b.slice(from, number * hidden, (number + 1) * hidden);
  };
  const ValueId r = b.sigmoid(b.add(gate(of_x, 0), gate(of_h, 0)));
  const ValueId z = b.sigmoid(b.add(gate(of_x, 1), gate(of_h, 1)));
  const ValueId n = b.tanh(b.mul_add(r, gate(of_h, 2), gate(of_x, 2)));
  const ValueId next = b.mul_add(z, b.apply("sub", {h, n}), n);
  b.scatter("h", next);
  b.push("h", next);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kGruCells;
const std::span<const CellKind> kGruCells = kKinds;

}  // namespace volvox
