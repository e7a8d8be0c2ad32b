#include "cells/library/transducer.h"

#include <string>
#include <vector>

#include "cells/ir/cell_builder.h"
#include "cells/library/decoder_step.h"
#include "cells/library/layers.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_transducer_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_transducer", "lanes", true, build, kStartKey | kSymbolsKey}};

// The prediction network's states, and the symbol that it reads next.
struct Predictor {
  ValueId h = kNoValue, c = kNoValue, token = kNoValue;
};

Predictor predictor_before(CellBuilder& b, const CellSizes& sizes) {
  declare_lstm_states(b, sizes.hidden);
  b.state({.name = "token", .shape = {}, .dtype = DType::kI32, .initial = static_cast<double>(sizes.start)});
  return {b.gather(0, "h"), b.gather(0, "c"), b.gather(0, "token")};
}

// What the joint network has of the frame, whatever is said at it.
ValueId heard(CellBuilder& b, std::string_view name, const CellSizes& sizes) {
  const std::string weight = std::string(name) + ".joint_frame", bias = std::string(name) + ".joint_bias";
  return b.product({{weight, layer_input(b, 1, sizes.input)}}, {.bias = bias, .width = sizes.hidden});
}

// Goes round once: the symbol, which may be blank, and in `at` what follows.
ValueId listen(CellBuilder& b, std::string_view name, const CellSizes& sizes, ValueId frame, Predictor& at) {
  const std::string said = std::string(name) + ".joint_said";
  const ValueId x = b.embed(at.token, std::string(name) + ".embedding", sizes.hidden);
  const auto [h, c] = lstm_step(b, name, x, at.h, at.c, sizes.hidden);
  const ValueId joint = b.tanh(b.product({{said, h}}, {.value = frame, .width = sizes.hidden}));
  const ValueId symbol = b.argmax(decoder_logits(b, name, joint, sizes));
  const ValueId speaks =
      b.apply("not_equal", {b.apply("to_f32", {symbol}), b.constant(static_cast<double>(sizes.start))});
  at = {b.apply("select", {speaks, h, at.h}), b.apply("select", {speaks, c, at.c}),
        b.apply("select", {speaks, symbol, at.token})};
  return symbol;
}

// A frame ends with a blank: without one each would have as many symbols as it may.
Status check_blank(const Weights* weights, std::string_view name, std::int64_t blank) {
  const Tensor* output = weights == nullptr ? nullptr : weights->find(std::string(name) + ".output");
  if (output == nullptr || output->shape.empty() || blank < output->shape[0]) return {};
  return invalid("cell '" + std::string(name) + "': the blank, start = " + std::to_string(blank) +
                 ", is none of the " + std::to_string(output->shape[0]) + " rows of '" + std::string(name) +
                 ".output', so that it could not be said");
}

}  // namespace

Result<Cell> lstm_transducer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                  std::string_view model) {
  if (Status ok = check_tokens(weights, name); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_blank(weights, name, sizes.start); !ok) return tl::unexpected(ok.error());
  CellBuilder b{std::string(name)};
  Predictor at = predictor_before(b, sizes);
  const ValueId frame = heard(b, name, sizes);
  std::vector<ValueId> symbols;
  for (std::int64_t i = 0; i < sizes.symbols; ++i) {
    const ValueId symbol = listen(b, name, sizes, frame, at);
    symbols.push_back(b.reshape(b.apply("to_f32", {symbol}), {1}));
  }
  b.scatter("h", at.h);
  b.scatter("c", at.c);
  b.scatter("token", at.token);
  b.push("symbols", b.apply("to_i32", {b.concat(symbols)}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kTransducerCells;
const std::span<const CellKind> kTransducerCells = kKinds;

}  // namespace volvox
