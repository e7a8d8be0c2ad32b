#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "import/onnx/cell_writer.h"
#include "import/onnx/graph.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {

// Elements of constants that are computed while importing, and of those that are read for it.
inline constexpr std::int64_t kMaxMadeElements = std::int64_t{1} << 26;
inline constexpr std::int64_t kMaxTouchedElements = std::int64_t{1} << 30;

// Writes a graph into a cell, node by node. Nodes whose inputs are all known are computed, and an `If` with a
// known condition becomes the branch that it takes. What else becomes of a node a walk of another kind may
// say.
class GraphWalk {
 public:
  virtual ~GraphWalk() = default;

  // Values by name; those of the graph around are seen from within.
  struct Scope {
    const Scope* around = nullptr;
    std::map<std::string, Quantity, std::less<>> values{};

    const Quantity* find(const std::string& name) const;
  };

  GraphWalk(CellWriter& writer, std::int64_t opset) : writer_(writer), opset_(opset) {}

  // The graph's inputs are in the scope; afterwards all else is. The error names the node.
  Status run(const Graph& graph, Scope& scope);

  std::size_t folded() const { return folded_; }    // nodes that were computed beforehand
  std::size_t written() const { return written_; }  // those of the cell
  std::size_t branches() const { return branches_; }

 protected:
  GraphWalk(const GraphWalk&) = default;
  GraphWalk& operator=(const GraphWalk&) = delete;

  // Operators that are taken beside the table's.
  virtual bool takes(const Node& node) const;
  // Makes the outputs of a node. `scope` is where it stands.
  virtual void write(NodeCall& call, const Scope& scope);

  CellWriter& writer() { return writer_; }
  std::int64_t opset() const { return opset_; }

 private:
  std::string missing_of(const Graph& graph) const;
  void node(const Node& node, Scope& scope);
  void count(const NodeCall& call);
  void branch(const Node& node, Scope& scope);
  void keep(const Node& node, const std::vector<Quantity>& outputs, Scope& scope);

  CellWriter& writer_;
  const std::int64_t opset_;
  std::int64_t touched_ = 0, made_ = 0;
  std::size_t folded_ = 0, written_ = 0, branches_ = 0;
};

}  // namespace volvox::onnx_import
