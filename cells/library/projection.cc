#include "cells/library/projection.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/layers.h"

namespace volvox {
namespace {

template <std::uint32_t kLanes>
Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(projection_cell(name, sizes, kLanes, weights, model));
}

constexpr CellKind kKinds[] = {{"projection", "lanes", true, build<1>},
                               {"projection_2", "lanes", true, build<2>}};

}  // namespace

Result<Cell> projection_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                             const Weights* weights, std::string_view model) {
  const std::string weight = std::string(name) + ".weight", bias = std::string(name) + ".bias";
  CellBuilder b{std::string(name)};
  const ValueId x = layer_input(b, lanes, sizes.input);
  b.push("y", b.product({{weight, x}}, {.bias = bias, .width = sizes.hidden}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kProjectionCells;
const std::span<const CellKind> kProjectionCells = kKinds;

}  // namespace volvox
