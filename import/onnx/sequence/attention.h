#pragma once

#include <optional>

#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {

// What each step asks of all: products of its row with the rows of every step, of which nothing is there at
// once. So they stay a question, as Quantity::asked says, until a softmax has made shares of them and those
// weigh what all steps have: then a lane that reads all of the sequence answers it for each step.
struct Question {
  Quantity row{}, rows{};  // [heads…, 1, width], and of all steps [heads…, width, 1]
  bool shares = false;
};

// A softmax of scores over all steps, and what it is multiplied with: their sum over the steps needs neither
// the shares nor the products of each step by themselves.
struct Weighing {
  Quantity scores{};
  std::optional<Quantity> values{};
};

// Notes in what a Mul has made whether shares of all steps weigh something there.
void note_weighing(const StepCall& call, Quantity& made);

// The question of MatMul's rows, one a step, and columns, one a step.
void ask(StepCall& call);
// What is made of a question: a factor, shares, or at last the answer. Refuses all else.
void go_on_asking(StepCall& call);

}  // namespace volvox::onnx_import
