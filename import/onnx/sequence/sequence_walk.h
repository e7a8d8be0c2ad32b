#pragma once

#include <cstdint>

#include "import/onnx/graph_walk.h"
#include "import/onnx/sequence/lane_book.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {

// Writes a graph over a sequence of any length into lanes. What is known, and what is computed of one end of
// the sequence, is written as in any graph; where a node reads the sequence, its step rule says what becomes
// of each step.
class SequenceWalk : public GraphWalk {
 public:
  SequenceWalk(LaneBook& lanes, std::int64_t opset) : GraphWalk(lanes.graph(), opset), lanes_(lanes) {}

  const AxisUse& use() const { return use_; }

 protected:
  bool takes(const Node& node) const override;
  void write(NodeCall& call, const Scope& scope) override;

 private:
  LaneBook& lanes_;
  AxisUse use_;
};

}  // namespace volvox::onnx_import
