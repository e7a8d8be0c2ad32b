#include "cells/library/word_lstm.h"

#include <array>
#include <string>
#include <utility>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_pairs.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build_tagger(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                       std::string_view model) {
  return only(word_tagger_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"word_lstm", "graph", true, word_lstm_cells},
                               {"word_tagger", "graph", true, build_tagger}};

void publish(CellBuilder& b, const std::array<ValueId, 2>& states) {
  b.scatter("h", states[0]);
  b.scatter("c", states[1]);
}

Result<Cell> character_cell(const std::string& name, const CellSizes& sizes, const Weights* weights,
                            std::string_view model) {
  CellBuilder b(name);
  declare_lstm_states(b, sizes.hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), name + ".embedding", sizes.input);
  publish(b, lstm_step(b, name, x, sizes.hidden));
  return b.build(weights, model);
}

// In either direction.
Result<Cell> word_cell(const std::string& name, const CellSizes& sizes, const Weights* weights,
                       std::string_view model) {
  CellBuilder b(name);
  declare_lstm_states(b, sizes.hidden);
  const ValueId x = b.gather(0, "h");
  const auto [h, c] = b.gather(1, {"h", "c"});
  publish(b, lstm_step(b, name, x, h, c, sizes.hidden));
  return b.build(weights, model);
}

}  // namespace

Result<std::vector<Cell>> word_lstm_cells(std::string_view name, const CellSizes& sizes,
                                          const Weights* weights, std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  auto cells = both(character_cell(prefix + "character", sizes, weights, model),
                    word_cell(prefix + "ahead", sizes, weights, model));
  auto back = word_cell(prefix + "back", sizes, weights, model);
  if (!cells) return cells;
  if (!back) return tl::unexpected(back.error());
  cells->push_back(std::move(*back));
  return cells;
}

Result<Cell> word_tagger_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                              std::string_view model) {
  const std::string weight = std::string(name) + ".weight", bias = std::string(name) + ".bias";
  CellBuilder b{std::string(name)};
  const Shape width{sizes.input};
  const ValueId ahead = b.gather(0, "h", width), back = b.gather(1, "h", width);
  b.push("label",
         b.argmax(b.product({{weight, b.concat({ahead, back})}}, {.bias = bias, .width = sizes.hidden})));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kWordLstmCells;
const std::span<const CellKind> kWordLstmCells = kKinds;

}  // namespace volvox
