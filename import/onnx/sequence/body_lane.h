#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {

// A lane whose cell is the body of a loop along the sequence: what the body hands on to its next round is a
// state, and so are the rows that it makes.
class BodyLane {
 public:
  BodyLane(StepCall& call, const Graph& body) : call_(call), body_(body) {}

  // Begins the lane, which reads these rows. `initial`: what the states are before the first step.
  void begin(std::string_view name, const std::vector<Quantity>& rows, std::vector<Quantity> initial,
             bool reverse);
  std::size_t number() const { return lane_; }
  CellWriter& cell() { return call_.lanes.draft(lane_).cell; }
  // A state of the step before.
  Quantity state(std::size_t i);
  // A row that begin() was told of, without these axes, which are of one step, or the batch.
  Quantity row(const Quantity& x, std::vector<std::size_t> axes);

  // The body sees the graph around it. What that computes of the sequence are no values of one step.
  GraphWalk::Scope what_is_known() const;
  const Quantity& made(const GraphWalk::Scope& inner, std::size_t output) const;
  // From this output on the body has its states; returns what they are after the last step.
  std::vector<Quantity> keep_states(const GraphWalk::Scope& inner, std::size_t first);
  // Rows that the body makes, one a step, in the shape of one.
  Quantity keep_rows(const Quantity& row, std::size_t i);

 private:
  static std::string state_name(std::size_t i) { return "state" + std::to_string(i); }

  StepCall& call_;
  const Graph& body_;
  std::vector<Quantity> initial_;
  std::size_t lane_ = 0;
};

}  // namespace volvox::onnx_import
