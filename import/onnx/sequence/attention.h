#pragma once

#include <cstddef>
#include <optional>

#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {

// What has a number for each pair of steps, as attention does: of the one that asks, and of the one that is
// asked. Its last two axes are theirs, and nothing of it is there at once. Its values in the graph are those
// of one pair, made of what the asking step has, of what the asked one has (PairLeaves), and of
// products of both; Quantity::pairs says so. A lane that reads all steps computes them when a softmax has
// made shares of them and those weigh what all steps have.

// A softmax of scores over all steps, and what it is multiplied with: their sum over the steps needs neither
// the shares nor the products of each step by themselves.
struct Weighing {
  Quantity scores{};
  std::optional<Quantity> values{};
};

// Notes in what a Mul has made whether shares of all steps weigh something there.
void note_weighing(const StepCall& call, Quantity& made);

// MatMul's rows, one a step, times its columns, one a step.
void multiply_pairs(StepCall& call);
// Whether an operator that goes element by element has numbers of pairs, or makes them of what has the steps
// in one of the last two axes and what has them in the other.
bool is_of_pairs(const StepCall& call);
// Such an operator.
void combine_pairs(StepCall& call);
// Numbers of pairs in another shape: `shape` has 1 where the steps are.
void reshape_pairs(StepCall& call, const Shape& shape);
// Expand or ConstantOfShape to the steps along both of the last two axes; the wanted shape has 1 there.
void fill_pairs(StepCall& call, std::size_t input, const Shape& shape);
// Rows of a table by a number of each pair, which then has axes behind those of the steps; and the axes in
// another order, in which those of the steps stay side by side.
void look_up_pairs(StepCall& call);
void transpose_pairs(StepCall& call);
// Softmax of them.
void share_pairs(StepCall& call);
// What the shares weigh: each step's answer.
void answer_pairs(StepCall& call);
// Of a value of each step with so many numbers along the last axis, of which each is another step's.
void pick_pairs(StepCall& call);

}  // namespace volvox::onnx_import
