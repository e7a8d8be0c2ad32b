#include "cells/library/viterbi.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/layers.h"

namespace volvox {
namespace {

template <std::uint32_t kLanes>
Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(viterbi_cell(name, sizes, kLanes, weights, model));
}

constexpr CellKind kKinds[] = {{"viterbi", "lanes", true, build<1>}, {"viterbi_2", "lanes", true, build<2>}};

ValueId take(CellBuilder& b, ValueId x, ValueId i) {
  return b.apply("take", {x, i}, {.integers = {0}});
}

ValueId weight(CellBuilder& b, std::string_view name, const char* which, const Shape& shape) {
  return b.apply("constant", {}, {.integers = shape}, {std::string(name) + which});
}

// Of the best way to each label: what it is worth without the label itself, and which of the ways so far it
// goes on from.
struct Ways {
  ValueId worth = kNoValue, from = kNoValue;
};

Ways go_on(CellBuilder& b, std::string_view name, std::int64_t labels) {
  const ValueId transitions = weight(b, name, ".transitions", {labels, labels});
  const ValueId scores = b.reshape(b.gather(0, "scores"), {labels, 1});
  const ValueId all = b.add(scores, take(b, transitions, b.gather(0, "labels")));
  const ValueId best = b.reshape(b.apply("reduce_max", {all}, {.integers = {0}}), {labels});
  const ValueId first = b.apply("equal", {b.gather(0, "steps"), b.constant(0)});
  return {b.apply("select", {first, weight(b, name, ".start", {labels}), best}),
          b.reshape(b.apply("argmax_axis", {all}, {.integers = {0}}), {labels})};
}

}  // namespace

Result<Cell> viterbi_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                          const Weights* weights, std::string_view model) {
  const std::int64_t labels = sizes.hidden;
  const std::string matrix = std::string(name) + ".weight", bias = std::string(name) + ".bias";
  CellBuilder b{std::string(name)};
  b.state({.name = "scores", .shape = {labels}})
      .state({.name = "labels", .shape = {labels}, .dtype = DType::kI32})
      .state({.name = "steps", .shape = {}});
  const ValueId x = layer_input(b, lanes, sizes.input);
  const ValueId own = b.product({{matrix, x}}, {.bias = bias, .width = labels});
  const Ways ways = go_on(b, name, labels);
  const ValueId worth = b.add(ways.worth, own);
  // Only differences count: without the largest, they stay small for ever.
  const ValueId scores = b.apply("sub", {worth, b.apply("reduce_max", {worth})});
  const ValueId order =
      b.apply("top_k_indices", {b.add(scores, weight(b, name, ".end", {labels}))}, {.integers = {labels}});
  b.scatter("scores", take(b, scores, order));
  b.scatter("labels", order);
  b.scatter("steps", b.constant(1));
  const ValueId from = b.apply("to_f32", {take(b, ways.from, order)});
  const ValueId rows = b.concat({from, b.apply("to_f32", {order})});
  b.push("path", b.reshape(b.apply("to_i32", {rows}), {2, labels}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kViterbiCells;
const std::span<const CellKind> kViterbiCells = kKinds;

}  // namespace volvox
