#include "import/onnx/einsum.h"

#include <vector>

#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// Of each step by itself; or over them, where the result has none.
void einsum(StepCall& call) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < call.node.inputs(); ++i) ranks.push_back(call.in(i).rank());
  const EinsumEquation equation = parse_einsum(call.node.text("equation", ""), ranks);
  char letter = 0;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!call.steps(i)) continue;
    const char here = equation.inputs[i][*call.steps(i)];
    if (letter != 0 && (here != letter || rows != call.rows(i)))
      refuse("multiplies steps of the sequence with other steps, and not as attention does");
    letter = here;
    rows = call.rows(i);
  }
  if (letter == 0) refuse("depends on the length of the sequence, which may be any");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!call.steps(i) && equation.inputs[i].find(letter) != std::string::npos)
      refuse("has numbers along the sequence, whose length may be any");
  }
  if (const std::size_t axis = equation.result.find(letter); axis != std::string::npos)
    return call.one_step(axis);
  call.one_step(0);
  Quantity& made = call.node.outputs.at(0);
  made = call.lanes.over_all(made, "segment_sum");
  made.steps.reset();
  made.turned = false;
}

constexpr StepRule kRules[] = {{"Einsum", einsum}};

}  // namespace

extern const std::span<const StepRule> kEinsumStepRules;
const std::span<const StepRule> kEinsumStepRules = kRules;

}  // namespace volvox::onnx_import
