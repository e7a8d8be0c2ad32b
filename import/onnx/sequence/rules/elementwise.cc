#include <algorithm>

#include "import/onnx/sequence/attention.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// Steps with steps, and with what is the same for all of them: axes are counted from the last one.
void elementwise(StepCall& call) {
  std::size_t rank = 0;
  std::int64_t rows = 1;
  std::optional<std::size_t> from_last;
  for (std::size_t i = 0; i < call.node.inputs(); ++i) {
    if (!call.node.has(i)) continue;
    rank = std::max(rank, call.in(i).rank());
    const auto axis = call.steps(i);
    if (!axis) continue;
    const std::size_t here = call.in(i).rank() - *axis;
    if (from_last && (*from_last != here || rows != call.rows(i)))
      refuse("puts steps of the sequence together with other steps");
    from_last = here;
    rows = call.rows(i);
  }
  if (!from_last) refuse("depends on the length of the sequence, which may be any");
  for (std::size_t i = 0; i < call.node.inputs(); ++i) {
    if (!call.node.has(i) || call.steps(i) || call.in(i).rank() < *from_last) continue;
    const std::int64_t extent = call.in(i).shape[call.in(i).rank() - *from_last];
    if (extent != 1)
      refuse("has " + std::to_string(extent) + " numbers along the sequence, whose length may be any");
  }
  call.one_step(rank - *from_last);
  if (call.node.node.op == "Mul") note_weighing(call, call.node.outputs.front());
}

constexpr StepRule kRules[] = {
    {"Add", elementwise},         {"Sub", elementwise},         {"Mul", elementwise},
    {"Div", elementwise},         {"Min", elementwise},         {"Max", elementwise},
    {"Equal", elementwise},       {"Less", elementwise},        {"Greater", elementwise},
    {"LessOrEqual", elementwise}, {"And", elementwise},         {"GreaterOrEqual", elementwise},
    {"Or", elementwise},          {"Not", elementwise},         {"Abs", elementwise},
    {"Exp", elementwise},         {"Log", elementwise},         {"Sqrt", elementwise},
    {"Relu", elementwise},        {"Sigmoid", elementwise},     {"Tanh", elementwise},
    {"Erf", elementwise},         {"Softplus", elementwise},    {"Neg", elementwise},
    {"Reciprocal", elementwise},  {"LeakyRelu", elementwise},   {"Elu", elementwise},
    {"Gelu", elementwise},        {"HardSigmoid", elementwise}, {"Clip", elementwise},
    {"Pow", elementwise},         {"Where", elementwise},       {"Sign", elementwise},
    {"Identity", elementwise},    {"Dropout", elementwise},     {"Selu", elementwise},
    {"Celu", elementwise},        {"HardSwish", elementwise},   {"Mish", elementwise},
    {"PRelu", elementwise},       {"Softsign", elementwise},
};

}  // namespace

extern const std::span<const StepRule> kElementwiseStepRules;
const std::span<const StepRule> kElementwiseStepRules = kRules;

}  // namespace volvox::onnx_import
