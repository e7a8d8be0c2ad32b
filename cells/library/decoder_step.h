#pragma once

#include <string>
#include <string_view>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/library/lstm_gates.h"

namespace volvox {

// What decoders over their own answers have in common (lstm_decoder.h): one LSTM step from the embedding of
// the token that was chosen last. Declares and publishes "h" and "c"; returns h.
inline ValueId decoder_step(CellBuilder& b, std::string_view name, const CellSizes& sizes) {
  declare_lstm_states(b, sizes.hidden);
  b.state({.name = "token", .shape = {}, .dtype = DType::kI32, .initial = static_cast<double>(sizes.start)});
  const ValueId x = b.embed(b.gather(0, "token"), std::string(name) + ".embedding", sizes.input);
  const auto [h, c] = lstm_step(b, name, x, sizes.hidden);
  b.scatter("h", h);
  b.scatter("c", c);
  return h;
}

// What it chooses it must know: it reads the embedding of it at its next step.
inline Status check_tokens(const Weights* weights, std::string_view name) {
  if (weights == nullptr) return {};
  const Tensor* known = weights->find(std::string(name) + ".embedding");
  const Tensor* chosen = weights->find(std::string(name) + ".output");
  if (known == nullptr || chosen == nullptr || known->shape.empty() || chosen->shape.empty()) return {};
  if (chosen->shape[0] <= known->shape[0]) return {};
  return invalid("cell '" + std::string(name) + "': chooses among the " + std::to_string(chosen->shape[0]) +
                 " rows of '" + std::string(name) + ".output', and knows only " +
                 std::to_string(known->shape[0]) + " tokens, the rows of '" + std::string(name) +
                 ".embedding'");
}

// A number for each token, of what the decoder has in mind.
inline ValueId decoder_logits(CellBuilder& b, std::string_view name, ValueId h, const CellSizes& sizes) {
  const std::string output = std::string(name) + ".output", bias = std::string(name) + ".output_bias";
  return b.product({{output, h}}, {.bias = bias, .width = sizes.outputs});
}

// The next step reads the token, and the client.
inline void say_token(CellBuilder& b, ValueId token) {
  b.scatter("token", token);
  b.push("token", token);
}

}  // namespace volvox
