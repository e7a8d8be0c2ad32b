#include "cells/model/model.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "cells/ops/ops.h"
#include "cells/unfold/unfolding.h"

namespace volvox {
namespace {

const StateKind* find_kind(const std::vector<StateKind>& kinds, std::string_view name) {
  const auto it =
      std::find_if(kinds.begin(), kinds.end(), [&](const StateKind& kind) { return kind.name == name; });
  return it == kinds.end() ? nullptr : &*it;
}

bool fits(const StateKind* kind, const Value& value) {
  return kind != nullptr && kind->dtype == value.dtype && kind->shape == value.shape;
}

Status check_type(const Model& model, const CellTypeSpec& type) {
  const auto wrong = [&](const std::string& what) {
    return model_error(model, "cell " + in_quotes(type.name) + ": " + what);
  };
  if (type.max_batch == 0 || type.min_batch > type.max_batch)
    return wrong("its batch limits exclude each other");
  if (type.out_pool >= model.pools.size()) return wrong("its pool does not exist");
  for (const StateKind& state : type.cell.states) {
    const StateKind* kind = find_kind(model.pools[type.out_pool].kinds, state.name);
    if (kind == nullptr || !(*kind == state))
      return wrong("its pool has no such state " + in_quotes(state.name));
  }
  for (const Operator& op : type.cell.operators) {
    if (!op.is(kGatherOp) && !op.is(kGatherAllOp)) continue;
    const PoolId pool = op.is(kGatherOp) ? type.gather_pools[op.index] : type.ragged_pool;
    if (pool >= model.pools.size() ||
        !fits(find_kind(model.pools[pool].kinds, op.name), type.cell.values[op.output])) {
      return wrong("gathers a state " + in_quotes(op.name) + " that no cell publishes there");
    }
  }
  return {};
}

}  // namespace

Status validate(const Model& model) {
  if (model.inputs.empty() || model.inputs.size() > kMaxInputs || model.outputs.size() > kMaxOutputs) {
    return model_error(model, "has too few or too many inputs or outputs");
  }
  for (const CellTypeSpec& type : model.types) {
    if (Status status = check_type(model, type); !status) return status;
  }
  if (model.unfolding == nullptr) return model_error(model, "has no unfolding");
  return model.unfolding->validate(model);
}

LanePlan rebased_plan(const Model& model, ModelId id, CellTypeId first_type, PoolId first_pool) {
  LanePlan plan = model.plan;
  plan.model = id;
  for (LaneSpec& lane : plan.lanes) {
    lane.type += first_type;
    lane.pool += first_pool;
  }
  return plan;
}

}  // namespace volvox
