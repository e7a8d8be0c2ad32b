#include "cells/library/noop.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes&, const Weights*, std::string_view) {
  return only(noop_cell(name));
}

constexpr CellKind kKinds[] = {{"noop", "chain", false, build}};

}  // namespace

Result<Cell> noop_cell(std::string_view name) {
  return CellBuilder{std::string(name)}.build();
}

extern const std::span<const CellKind> kNoopCells;
const std::span<const CellKind> kNoopCells = kKinds;

}  // namespace volvox
