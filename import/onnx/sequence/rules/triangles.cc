#include "import/onnx/known.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// Of a number for each pair of steps: where the asked one comes so much later than the one that asks, or
// more, or not.
void trilu(StepCall& call) {
  const Quantity& x = call.in(0);
  if (x.pairs != Quantity::Pairs::kNumbers) refuse("takes a triangle of what is no square of the sequence");
  CellWriter& w = call.node.writer;
  const std::int64_t later = call.node.has(1) ? call.node.integers_in(1).at(0) : 0;
  if (call.node.has(1) && has_open(call.in(1))) refuse_length();
  const bool upper = call.node.integer("upper", 1) != 0;
  const Quantity own = call.lanes.number_of_step(kMostExact), other = call.lanes.pairs().other(own);
  const Quantity difference = w.sub(w.as_f32(other), w.as_f32(own));
  const Quantity kept = w.pointwise(upper ? "greater_equal" : "less_equal",
                                    {difference, known_reals({}, {static_cast<float>(later)})});
  Quantity made = w.reshape(w.pointwise("select", {kept, reals_of(w, x), known_reals({}, {0})}), x.shape);
  made.pairs = Quantity::Pairs::kNumbers;
  call.use.as_steps = true;
  call.make(std::move(made), x.rank() - 2);
}

constexpr StepRule kRules[] = {{"Trilu", trilu, false, true}};

}  // namespace

extern const std::span<const StepRule> kTrianglesStepRules;
const std::span<const StepRule> kTrianglesStepRules = kRules;

}  // namespace volvox::onnx_import
