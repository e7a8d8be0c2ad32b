#include "cells/library/lstm_peephole.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_peephole_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_peephole", "chain", true, build}};

}  // namespace

Result<Cell> lstm_peephole_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", bias = prefix + "bias",
                    weight_ih = prefix + "weight_ih", weight_hh = prefix + "weight_hh";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  const auto seeing = [&](std::int64_t gate, const char* peephole, ValueId state) {
    const ValueId weight = b.apply("constant", {}, {.integers = {hidden}}, {prefix + peephole});
    return b.mul_add(weight, state, lstm_gate(b, z, gate, hidden));
  };
  const ValueId i = b.sigmoid(seeing(0, "peephole_i", c)), f = b.sigmoid(seeing(1, "peephole_f", c));
  const ValueId g = b.tanh(lstm_gate(b, z, 2, hidden));
  const ValueId next = b.mul_add(f, c, b.mul(i, g));
  publish_lstm(b, seeing(3, "peephole_o", next), next);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmPeepholeCells;
const std::span<const CellKind> kLstmPeepholeCells = kKinds;

}  // namespace volvox
