#include "cells/library/lstm_decoder.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_decoder_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_decoder", "lanes", true, build}};

}  // namespace

Result<Cell> lstm_decoder_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                               std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", output = prefix + "output",
                    output_bias = prefix + "output_bias";
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, sizes.hidden);
  b.state({.name = "token", .shape = {}, .dtype = DType::kI32, .initial = static_cast<double>(sizes.start)});
  const ValueId x = b.embed(b.gather(0, "token"), embedding, sizes.input);
  const auto [h, c] = lstm_step(b, name, x, sizes.hidden);
  b.scatter("h", h);
  b.scatter("c", c);
  const ValueId token = b.argmax(b.product({{output, h}}, {.bias = output_bias, .width = sizes.outputs}));
  b.scatter("token", token);
  b.push("token", token);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmDecoderCells;
const std::span<const CellKind> kLstmDecoderCells = kKinds;

}  // namespace volvox
