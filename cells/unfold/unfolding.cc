#include "cells/unfold/unfolding.h"

#include <algorithm>

#include "base/text.h"
#include "cells/model/model.h"
#include "cells/ops/ops.h"

namespace volvox {

tl::unexpected<Error> model_error(const Model& model, const std::string& what) {
  return invalid("model " + in_quotes(model.name) + ": " + what);
}

Status check_bindings(const Model& model, CellTypeId type, std::span<const std::uint8_t> pulls,
                      std::span<const LanePush> pushes, const std::string& whose) {
  const auto wrong = [&](const std::string& what) { return model_error(model, whose + ": " + what); };
  const Cell& cell = model.types[type].cell;
  for (const Operator& op : cell.operators) {
    if (op.is(kPullOp) && pulls[op.index] >= model.inputs.size()) return wrong("its input does not exist");
    if (!op.is(kPushOp) || pushes[op.index].output == LanePush::kNowhere) continue;
    const LanePush& push = pushes[op.index];
    if (push.output >= model.outputs.size()) return wrong("its output does not exist");
    const OutputSpec& output = model.outputs[push.output];
    const Value& value = cell.values[op.inputs[0]];
    if (output.dtype != value.dtype || output.shape != value.shape || output.every != push.every) {
      return wrong("its result is not the output " + in_quotes(output.name));
    }
  }
  return {};
}

const UnfoldingKind* find_unfolding_kind(std::string_view name) {
  const auto kinds = unfolding_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const UnfoldingKind* kind) { return kind->name == name; });
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace volvox
