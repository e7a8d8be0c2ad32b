#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "loadgen/requests/random.h"
#include "loadgen/requests/trees.h"

namespace volvox {

// A cell type that nodes of graphs may have.
struct GraphCellType {
  std::string name{};
  bool is_leaf = false;    // a node of it may read nothing
  bool is_inner = false;   // a node of it may read two others
  bool reads_any = false;  // … or any number
};

// The graphs that requests of a load are made of: trees, whose nodes are of a type drawn from those that fit.
// Immutable once made: any number of threads.
class GraphSource {
 public:
  // INVALID_ARGUMENT where no type can be a leaf, or none an inner node. The trees must be binary unless all
  // inner types read any number.
  static Result<GraphSource> make(TreeSource trees, const std::vector<GraphCellType>& types);

  struct Graph {
    std::vector<std::int32_t> types{}, offsets{}, predecessors{};  // as in GraphStructure; types by names()
  };
  Graph draw(SeededRandom& random) const;

  // As make() took them.
  const TreeSource& trees() const { return trees_; }
  const std::vector<GraphCellType>& types() const { return types_; }

  const std::vector<std::string>& names() const { return names_; }
  std::string description() const { return "graphs of " + trees_.description(); }

 private:
  explicit GraphSource(TreeSource trees) : trees_(std::move(trees)) {}

  TreeSource trees_;
  std::vector<GraphCellType> types_;
  std::vector<std::string> names_;
  std::vector<std::int32_t> leaves_, inner_;  // their types
};

}  // namespace volvox
