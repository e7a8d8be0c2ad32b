#include "cells/library/gru.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/gru_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(gru_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"gru", "chain", true, build}};

}  // namespace

Result<Cell> gru_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                      std::string_view model) {
  CellBuilder b{std::string(name)};
  b.state({.name = "h", .shape = {sizes.hidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), std::string(name) + ".embedding", sizes.input);
  const ValueId next = gru_step(b, name, x, b.gather(0, "h"), sizes.hidden);
  b.scatter("h", next);
  b.push("h", next);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kGruCells;
const std::span<const CellKind> kGruCells = kKinds;

}  // namespace volvox
