#include "cells/library/lattice.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_pairs.h"
#include "cells/library/gru_gates.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

using Build = Result<Cell> (*)(std::string_view, std::string_view, const CellSizes&, const Weights*,
                               std::string_view);

template <Build kCharacter, Build kWord>
Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return both(kCharacter(std::string(name) + ".character", name, sizes, weights, model),
              kWord(std::string(name) + ".word", name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {
    {"lattice_lstm", "lattice", true, build<lattice_lstm_character_cell, lattice_lstm_word_cell>},
    {"lattice_gru", "lattice", true, build<lattice_gru_character_cell, lattice_gru_word_cell>}};

ValueId token_row(CellBuilder& b, const std::string& prefix, std::int64_t width) {
  return b.embed(b.pull("token", DType::kI32), prefix + ".embedding", width);
}

// exp(σ(link_bias + link_weight·x + W·state)) of each word, W the weight `of_state`.
ValueId word_shares(CellBuilder& b, const std::string& prefix, const char* of_state, ValueId x,
                    ValueId states, std::int64_t hidden) {
  const std::string weight = prefix + ".link_weight", state = prefix + of_state, bias = prefix + ".link_bias";
  return b.apply("exp",
                 {b.sigmoid(b.product({{weight, x}, {state, states}}, {.bias = bias, .width = hidden}))});
}

// (own·state + Σ share_k·state_k) / (own + Σ share_k)
ValueId weighted_mean(CellBuilder& b, ValueId own, ValueId state, ValueId shares_sum, ValueId shares,
                      ValueId states) {
  const ValueId sum = b.mul_add(own, state, b.segment_sum(b.mul(shares, states)));
  return b.apply("div", {sum, b.add(own, shares_sum)});
}

}  // namespace

Result<Cell> lattice_lstm_word_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                    const Weights* weights, std::string_view model) {
  const std::string word = std::string(prefix) + ".word";
  const std::string weight_ih = word + ".weight_ih", weight_hh = word + ".weight_hh", bias = word + ".bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const ValueId x = token_row(b, word, sizes.input);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 3 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden)), f = b.sigmoid(lstm_gate(b, z, 1, hidden));
  b.scatter("c", b.mul_add(f, c, b.mul(i, b.tanh(lstm_gate(b, z, 2, hidden)))));
  return b.build(weights, model);
}

Result<Cell> lattice_lstm_character_cell(std::string_view name, std::string_view prefix,
                                         const CellSizes& sizes, const Weights* weights,
                                         std::string_view model) {
  const std::string own = std::string(prefix) + ".character";
  const std::string weight_ih = own + ".weight_ih", weight_hh = own + ".weight_hh", bias = own + ".bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, hidden);
  const ValueId x = token_row(b, own, sizes.input);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId words = b.gather_all("c");
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  const ValueId i = b.sigmoid(lstm_gate(b, z, 0, hidden)), f = b.sigmoid(lstm_gate(b, z, 1, hidden));
  const ValueId g = b.tanh(lstm_gate(b, z, 2, hidden));
  const ValueId shares = word_shares(b, own, ".link_cell", x, words, hidden);
  const ValueId sum = b.segment_sum(shares);  // 0 without words, and positive with any
  const ValueId mixed = weighted_mean(b, b.apply("exp", {i}), g, sum, shares, words);
  publish_lstm(b, lstm_gate(b, z, 3, hidden), b.apply("select", {sum, mixed, b.mul_add(f, c, b.mul(i, g))}));
  return b.build(weights, model);
}

Result<Cell> lattice_gru_word_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                   const Weights* weights, std::string_view model) {
  const std::string word = std::string(prefix) + ".word";
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = token_row(b, word, sizes.input);
  b.scatter("h", gru_step(b, word, x, b.gather(0, "h"), sizes.hidden));
  return b.build(weights, model);
}

Result<Cell> lattice_gru_character_cell(std::string_view name, std::string_view prefix,
                                        const CellSizes& sizes, const Weights* weights,
                                        std::string_view model) {
  const std::string own = std::string(prefix) + ".character";
  const std::string own_weight = own + ".own_weight", own_bias = own + ".own_bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {hidden}});
  const ValueId x = token_row(b, own, sizes.input);
  const ValueId n = gru_step(b, own, x, b.gather(0, "h"), hidden);
  const ValueId words = b.gather_all("h");
  const ValueId shares = word_shares(b, own, ".link_state", x, words, hidden);
  const ValueId sum = b.segment_sum(shares);
  const ValueId gate =
      b.apply("exp", {b.sigmoid(b.product({{own_weight, x}}, {.bias = own_bias, .width = hidden}))});
  const ValueId h = b.apply("select", {sum, weighted_mean(b, gate, n, sum, shares, words), n});
  b.scatter("h", h);
  b.push("h", h);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLatticeCells;
const std::span<const CellKind> kLatticeCells = kKinds;

}  // namespace volvox
