#include "cells/library/lstm.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

// One step from x, after the states of gather 0.
void add_lstm(CellBuilder& b, std::string_view name, ValueId x, std::int64_t hidden) {
  const std::string prefix = std::string(name) + ".";
  const std::string bias = prefix + "bias", weight_ih = prefix + "weight_ih",
                    weight_hh = prefix + "weight_hh";
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden));
  const ValueId f = b.sigmoid(lstm_gate(b, z, 1, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 2, hidden));
  publish_lstm(b, lstm_gate(b, z, 3, hidden), b.mul_add(f, c, b.mul(i, g)));
}

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_cell(name, sizes, weights, model));
}
Result<std::vector<Cell>> build_layer(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                      std::string_view model) {
  return only(lstm_layer_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm", "chain", true, build}, {"lstm_layer", "lanes", true, build_layer}};

}  // namespace

Result<Cell> lstm_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                       std::string_view model) {
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, sizes.hidden);
  const ValueId token = b.pull("token", DType::kI32);
  add_lstm(b, name, b.embed(token, std::string(name) + ".embedding", sizes.input), sizes.hidden);
  return b.build(weights, model);
}

Result<Cell> lstm_layer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                             std::string_view model) {
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, sizes.hidden);
  add_lstm(b, name, b.gather(1, "h", Shape{sizes.input}), sizes.hidden);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmCells;
const std::span<const CellKind> kLstmCells = kKinds;

}  // namespace volvox
