#include "cells/library/cell_kind.h"

namespace volvox {

const CellKind* find_cell_kind(std::string_view name) {
  for (const auto* kinds : cell_kinds()) {
    for (const CellKind& kind : *kinds) {
      if (kind.name == name) return &kind;
    }
  }
  return nullptr;
}

std::string cell_kind_names(std::string_view unfolding) {
  std::string names;
  for (const auto* kinds : cell_kinds()) {
    for (const CellKind& kind : *kinds) {
      if (kind.unfolding == unfolding) names.append(names.empty() ? "" : ", ").append(kind.name);
    }
  }
  return names;
}

}  // namespace volvox
