#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "cells/ir/node_graph.h"
#include "shapes/lattices.h"

namespace volvox {

// TreeLSTM: leaves are of type `leaf` and pull row 0, 1 …; inner nodes, of two children, of type `inner`
// gather 0 and 1. The root pushes. `parents`: of each node, as TreeSource draws them.
Result<std::shared_ptr<const NodeGraph>> tree_graph(std::span<const std::int32_t> parents, CellTypeId leaf,
                                                    CellTypeId inner);
// Lattice LSTM: a character gathers (0) the one before it and, as ragged list, the words that end there; a
// word gathers (0) the character it begins with. The last character pushes.
Result<std::shared_ptr<const NodeGraph>> lattice_graph(const LatticeShape& lattice, CellTypeId character,
                                                       CellTypeId word);

}  // namespace volvox
