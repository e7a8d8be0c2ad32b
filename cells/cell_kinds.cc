#include "cells/cell_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

namespace volvox {
namespace {

constexpr std::array<CellKind, 7> kKinds{{{"lstm", "chain", true},
                                          {"lstm_layer", "lanes", true},
                                          {"noop", "chain", false},
                                          {"check", "chain", false},
                                          {"tree_lstm", "tree", true},
                                          {"child_sum", "tree", true},
                                          {"check_tree", "tree", false}}};

Result<Cell> build_cell(const CellKind& kind, std::string_view name, const CellSizes& sizes,
                        const Weights* weights, std::string_view model) {
  if (kind.name == "lstm") return lstm_cell(name, sizes, weights, model);
  if (kind.name == "lstm_layer") return lstm_layer_cell(name, sizes, weights, model);
  if (kind.name == "noop") return noop_cell(name);
  if (kind.name == "check") return check_cell(name);
  if (kind.name == "child_sum") return child_sum_cell(name, sizes, weights, model);
  return check_tree_cell(name);
}

}  // namespace

const CellKind* find_cell_kind(std::string_view name) {
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const CellKind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

std::string cell_kind_names(std::string_view unfolding) {
  std::string names;
  for (const CellKind& kind : kKinds) {
    if (kind.unfolding == unfolding) names.append(names.empty() ? "" : ", ").append(kind.name);
  }
  return names;
}

Result<std::vector<Cell>> build_cells(const CellKind& kind, std::string_view name, const CellSizes& sizes,
                                      const Weights* weights, std::string_view model) {
  std::vector<Cell> cells;
  const auto add = [&cells](Result<Cell> cell) -> Status {
    if (!cell) return tl::unexpected(cell.error());
    cells.push_back(std::move(*cell));
    return {};
  };
  Status added;
  if (kind.name == "tree_lstm") {
    const std::string leaf = std::string(name) + ".leaf", internal = std::string(name) + ".internal";
    added = add(tree_lstm_leaf_cell(leaf, name, sizes, weights, model));
    if (added) added = add(tree_lstm_internal_cell(internal, name, sizes, weights, model));
  } else {
    added = add(build_cell(kind, name, sizes, weights, model));
  }
  if (!added) return tl::unexpected(added.error());
  return cells;
}

}  // namespace volvox
