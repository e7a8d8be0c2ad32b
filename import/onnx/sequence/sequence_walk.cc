#include "import/onnx/sequence/sequence_walk.h"

#include "import/onnx/converted.h"
#include "import/onnx/sequence/open_length.h"

namespace volvox::onnx_import {

bool SequenceWalk::takes(const Node& node) const {
  return GraphWalk::takes(node) || (node.domain.empty() && find_step_rule(node.op) != nullptr);
}

void SequenceWalk::write(NodeCall& call, const Scope& scope) {
  bool steps = false, length = false, all_known = true;
  std::optional<bool> turned;
  std::optional<std::int64_t> missing;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    steps = steps || call.in(i).steps.has_value();
    length = length || has_open(call.in(i));
    all_known = all_known && call.in(i).is_known();
    const Quantity::Margin& margin = call.in(i).margin;
    const bool takes = call.node.op == "Slice" || (call.node.op == "Conv" && margin.zeros);
    if (!margin.none() && !takes)
      refuse(
          "reads a sequence that was made longer, which only a convolution or a slice makes shorter again");
    if (!call.in(i).steps) continue;
    if (call.in(i).joined && call.node.op != "Reshape" && call.node.op != "InstanceNormalization")
      refuse("reads the steps of the sequence in one axis with others");
    if (missing.value_or(call.in(i).missing) != call.in(i).missing)
      refuse("puts steps of the sequence together with fewer of them");
    missing = call.in(i).missing;
    if (call.in(i).is_known()) continue;
    if (turned.value_or(call.in(i).turned) != call.in(i).turned)
      refuse("puts steps of the sequence together with steps in the other order");
    turned = call.in(i).turned;
  }
  const bool ordinary = find_rule(call.node.op) != nullptr;
  if (!steps && !length && ordinary) return GraphWalk::write(call, scope);
  const bool fills =
      call.node.op == "Expand" || call.node.op == "Tile" || call.node.op == "ConstantOfShape" ||
      call.node.op == "Range" || (call.node.op == "Slice" && !has_open(call.in(0))) ||
      (call.node.op == "Cast" && is_real_input(static_cast<std::int32_t>(call.integer("to", 0))));
  if (!steps && length && all_known && ordinary && !fills) return compute_with_length(call);
  const StepRule* rule = find_step_rule(call.node.op);
  if (rule == nullptr) refuse("is not there for the steps of a sequence");
  StepCall step{.node = call,
                .lanes = lanes_,
                .scope = scope,
                .use = use_,
                .turned = turned.value_or(false),
                .missing = missing.value_or(0)};
  const bool pairs = step.has_pairs();
  if (pairs && !rule->of_pairs)
    refuse(
        "multiplies steps of the sequence with each other, and does something else with that than attention");
  if (step.missing > 0 && (pairs || !rule->may_miss))
    refuse("goes along a sequence that a convolution made shorter, by " + std::to_string(step.missing) +
           " rows; pad it");
  rule->write(step);
}

}  // namespace volvox::onnx_import
