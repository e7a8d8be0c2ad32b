#include "cells/library/tagger.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/layers.h"

namespace volvox {
namespace {

template <std::uint32_t kLanes>
Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(tagger_cell(name, sizes, kLanes, weights, model));
}

constexpr CellKind kKinds[] = {{"tagger", "lanes", true, build<1>}, {"tagger_2", "lanes", true, build<2>}};

}  // namespace

Result<Cell> tagger_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                         const Weights* weights, std::string_view model) {
  const std::string weight = std::string(name) + ".weight", bias = std::string(name) + ".bias";
  CellBuilder b{std::string(name)};
  const ValueId x = layer_input(b, lanes, sizes.input);
  b.push("label", b.argmax(b.product({{weight, x}}, {.bias = bias, .width = sizes.hidden})));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kTaggerCells;
const std::span<const CellKind> kTaggerCells = kKinds;

}  // namespace volvox
