#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/onnx/sequence/step_graph.h"

namespace volvox::onnx_import {

// Values of the graph that are there for each pair of steps (attention.h): what the asked step has, and what
// the one that asks has times that. They are leaves of what is computed, which only a lane of attention gives
// a meaning (LaneBook::attended()).
class PairLeaves {
 public:
  // Without a `row`, what the asked step has of x.
  struct Leaf {
    Quantity x{};
    std::optional<Quantity> row{};
  };

  explicit PairLeaves(StepGraph& graph) : graph_(graph) {}

  Quantity other(const Quantity& x);
  // By each head apart: row is [heads…, 1, width], rows [heads…, width, 1], the product [heads]. Either may
  // have one head for all of the other's.
  Quantity product(const Quantity& row, const Quantity& rows);
  // The leaf that this value is; null: it is none.
  const Leaf* find(const Quantity& made) const;

  // What a value is made of: leaves, and what the asking step has for itself.
  struct Parts {
    std::vector<ValueId> leaves{}, own{};
  };
  Parts parts_of(const Quantity& value) const;
  const Leaf& leaf(ValueId id) const { return leaves_.at(graph_.place_of(id)->state); }

 private:
  bool is_leaf(ValueId id) const;
  Quantity add(Leaf leaf, const std::string& name, const Shape& shape, DType dtype);

  StepGraph& graph_;
  std::map<std::string, Leaf> leaves_;  // by the name of the state that stands for it
};

}  // namespace volvox::onnx_import
