#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/node_graph.h"
#include "simulation/chance.h"

namespace volvox {

// Sentence lengths, one a line: `length`, or `source<TAB>target`, of which the source counts.
Result<std::vector<std::uint32_t>> read_lengths(const std::string& path);
// Lengths shaped like BatchMaker's (§7.1): log-normal, mean 24, 99 % at most 100, none above 330.
std::vector<std::uint32_t> typical_lengths(std::size_t count, Chance& chance);

// A binary parse tree, bottom-up: node i has children below i, or none.
struct Tree {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Node {
    std::uint32_t left = kNone, right = kNone;
  };
  std::vector<Node> nodes;
};
// One tree a line as in the Stanford Treebank: `(label left right)` or `(label word)`.
Result<std::vector<Tree>> read_trees(const std::string& path);
Result<Tree> parse_tree(const std::string& line);
Tree random_tree(std::uint32_t leaves, Chance& chance);

// Characters in a row, and words over them: [begin, end) with end - begin >= 2.
struct Lattice {
  std::uint32_t chars = 0;
  std::vector<std::array<std::uint32_t, 2>> words;
};
// One lattice a line: {"chars": n, "words": [[begin, end], …]}.
Result<std::vector<Lattice>> read_lattices(const std::string& path);
Result<Lattice> parse_lattice(const std::string& line);
Lattice random_lattice(std::uint32_t chars, Chance& chance);

// TreeLSTM: leaves are of type `leaf` and pull row 0, 1 …; inner nodes of type `inner` gather 0 and 1. The
// root pushes.
Result<std::shared_ptr<const NodeGraph>> tree_graph(const Tree& tree, CellTypeId leaf, CellTypeId inner);
// Lattice LSTM: a character gathers (0) the one before it and, as ragged list, the words that end there; a
// word gathers (0) the character it begins with. The last character pushes.
Result<std::shared_ptr<const NodeGraph>> lattice_graph(const Lattice& lattice, CellTypeId character,
                                                       CellTypeId word);

}  // namespace volvox
