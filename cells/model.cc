#include "cells/model.h"

#include <algorithm>
#include <string>

#include "cells/text.h"

namespace volvox {
namespace {

Status error(const Model& model, const std::string& what) {
  return invalid("model " + in_quotes(model.name) + ": " + what);
}

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
    return error(model, "cell " + in_quotes(type.name) + ": " + what);
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
    if (op.kind != OpKind::kGather && op.kind != OpKind::kGatherAll) continue;
    const PoolId pool = op.kind == OpKind::kGather ? type.gather_pools[op.index] : type.ragged_pool;
    if (pool >= model.pools.size() ||
        !fits(find_kind(model.pools[pool].kinds, op.name), type.cell.values[op.output])) {
      return wrong("gathers a state " + in_quotes(op.name) + " that no cell publishes there");
    }
  }
  return {};
}

Status check_lane(const Model& model, std::size_t number) {
  const LaneSpec& lane = model.plan.lanes[number];
  const auto wrong = [&](const std::string& what) {
    return error(model, "lane " + std::to_string(number) + ": " + what);
  };
  if (lane.type >= model.types.size()) return wrong("its cell does not exist");
  const CellTypeSpec& type = model.types[lane.type];
  if (lane.pool != type.out_pool) return wrong("its pool is not that of its cell");
  if (lane.has_state != !type.cell.states.empty()) return wrong("its cell disagrees about having state");
  for (const LaneEdge& edge : lane.edges) {
    const PoolId pool = edge.all ? type.ragged_pool : type.gather_pools[edge.gather];
    if (model.plan.lanes[edge.from].pool != pool)
      return wrong("reads a lane whose states are in another pool");
    if (edge.before_first != LaneEdge::kNone && model.plan.lanes[edge.before_first].pool != pool) {
      return wrong("begins with a lane whose states are in another pool");
    }
  }
  for (const Operator& op : type.cell.operators) {
    if (op.kind == OpKind::kPull && lane.pulls[op.index] >= model.inputs.size())
      return wrong("its input does not exist");
    if (op.kind != OpKind::kPush || lane.pushes[op.index].output == LanePush::kNowhere) continue;
    const LanePush& push = lane.pushes[op.index];
    if (push.output >= model.outputs.size()) return wrong("its output does not exist");
    const OutputSpec& output = model.outputs[push.output];
    const Value& value = type.cell.values[op.inputs[0]];
    if (output.dtype != value.dtype || output.shape != value.shape || output.every != push.every) {
      return wrong("its result is not the output " + in_quotes(output.name));
    }
  }
  return {};
}

}  // namespace

Status validate(const Model& model) {
  if (Status status = model.plan.validate(); !status) return error(model, status.error().message);
  if (model.inputs.empty() || model.inputs.size() > kMaxInputs || model.outputs.size() > kMaxOutputs) {
    return error(model, "has too few or too many inputs or outputs");
  }
  for (const CellTypeSpec& type : model.types) {
    if (Status status = check_type(model, type); !status) return status;
  }
  for (std::size_t lane = 0; lane < model.plan.lanes.size(); ++lane) {
    if (Status status = check_lane(model, lane); !status) return status;
  }
  return {};
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
