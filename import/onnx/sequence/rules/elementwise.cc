#include <algorithm>
#include <string_view>

#include "import/onnx/sequence/attention.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// Steps with steps, and with what is the same for all of them: axes are counted from the last one.
void elementwise(StepCall& call) {
  if (is_of_pairs(call)) return combine_pairs(call);
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

constexpr StepRule of_each(std::string_view op) {
  return {op, elementwise, true, true};
}

constexpr StepRule kRules[] = {
    of_each("Add"),         of_each("Sub"),         of_each("Mul"),      of_each("Div"),
    of_each("Min"),         of_each("Max"),         of_each("Equal"),    of_each("Less"),
    of_each("Greater"),     of_each("LessOrEqual"), of_each("And"),      of_each("GreaterOrEqual"),
    of_each("Or"),          of_each("Not"),         of_each("Abs"),      of_each("Exp"),
    of_each("Log"),         of_each("Sqrt"),        of_each("Relu"),     of_each("Sigmoid"),
    of_each("Tanh"),        of_each("Erf"),         of_each("Softplus"), of_each("Neg"),
    of_each("Reciprocal"),  of_each("LeakyRelu"),   of_each("Elu"),      of_each("Gelu"),
    of_each("HardSigmoid"), of_each("Clip"),        of_each("Pow"),      of_each("Where"),
    of_each("Sign"),        of_each("Identity"),    of_each("Dropout"),  of_each("Selu"),
    of_each("Celu"),        of_each("HardSwish"),   of_each("Mish"),     of_each("PRelu"),
    of_each("Softsign"),    of_each("Sin"),         of_each("Cos"),      of_each("Floor"),
    of_each("Ceil"),
};

}  // namespace

extern const std::span<const StepRule> kElementwiseStepRules;
const std::span<const StepRule> kElementwiseStepRules = kRules;

}  // namespace volvox::onnx_import
