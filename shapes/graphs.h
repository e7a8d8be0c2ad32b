#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "cells/model/model.h"
#include "shapes/random.h"
#include "shapes/trees.h"

namespace volvox {

// A cell type that nodes of graphs may have, and which nodes.
struct GraphCellType {
  std::string name{};
  bool is_leaf = false;     // a node of it may read nothing
  bool is_inner = false;    // a node of it may read two others
  bool reads_any = false;   // … or any number
  bool is_step = false;     // a node of it reads one other at most, and the request
  bool keeps_none = false;  // no other can read a node of it
};

// Those of a model over graphs, in its order.
std::vector<GraphCellType> graph_cell_types(const Model& model);
// Whether trees of which its graphs are made must be binary.
bool joins_two(const std::vector<GraphCellType>& types);

// The graphs that requests are made of: trees, whose nodes are of a type drawn from those that fit.
// Where no type is a leaf's they are texts, with as many words as the tree has leaves: of one step's type the
// characters of each word, one after the other; of one type a node for each word, which reads the last
// character and the word before; of another one that reads the word behind; and of one that keeps nothing a
// node that reads these two. Immutable once made: any number of threads.
class GraphSource {
 public:
  // Of a word in a text: five characters on the average, as in English, and three nodes for the whole.
  static constexpr std::uint64_t kMostCharacters = 9, kMostNodesOfAWord = kMostCharacters + 3;

  // INVALID_ARGUMENT where the types are those of neither. The trees must be binary unless all inner types
  // read any number.
  static Result<GraphSource> make(TreeSource trees, const std::vector<GraphCellType>& types);

  struct Graph {
    std::vector<std::int32_t> types{}, offsets{}, predecessors{};  // as in GraphStructure; types by names()
  };
  // Views both.
  GraphStructure structure(const Graph& graph) const {
    return {{names_.begin(), names_.end()}, graph.types, graph.offsets, graph.predecessors};
  }
  Graph draw(SeededRandom& random) const;

  // As make() took them.
  const TreeSource& trees() const { return trees_; }
  const std::vector<GraphCellType>& types() const { return types_; }

  const std::vector<std::string>& names() const { return names_; }
  std::string description() const {
    return (leaves_.empty() ? "texts of as many words as leaves: " : "graphs of ") + trees_.description();
  }

 private:
  // Of the nodes of a text.
  struct TextTypes {
    std::int32_t character = 0, ahead = 0, back = 0, both = 0;
  };

  explicit GraphSource(TreeSource trees) : trees_(std::move(trees)) {}

  bool find_text_types();
  Graph draw_tree(const std::vector<std::int32_t>& parents, SeededRandom& random) const;
  Graph draw_text(std::size_t words, SeededRandom& random) const;

  TreeSource trees_;
  std::vector<GraphCellType> types_;
  std::vector<std::string> names_;
  std::vector<std::int32_t> leaves_, inner_;  // their types
  TextTypes text_;                            // where there are no leaves
};

}  // namespace volvox
