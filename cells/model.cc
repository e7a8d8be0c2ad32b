#include "cells/model.h"

#include <algorithm>
#include <span>
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

// What the cell's own numbers of inputs and outputs mean, for a lane or for all nodes of a tree.
Status check_bindings(const Model& model, const CellTypeSpec& type, std::span<const std::uint8_t> pulls,
                      std::span<const LanePush> pushes, const std::string& whose) {
  const auto wrong = [&](const std::string& what) { return error(model, whose + ": " + what); };
  for (const Operator& op : type.cell.operators) {
    if (op.kind == OpKind::kPull && pulls[op.index] >= model.inputs.size())
      return wrong("its input does not exist");
    if (op.kind != OpKind::kPush || pushes[op.index].output == LanePush::kNowhere) continue;
    const LanePush& push = pushes[op.index];
    if (push.output >= model.outputs.size()) return wrong("its output does not exist");
    const OutputSpec& output = model.outputs[push.output];
    const Value& value = type.cell.values[op.inputs[0]];
    if (output.dtype != value.dtype || output.shape != value.shape || output.every != push.every) {
      return wrong("its result is not the output " + in_quotes(output.name));
    }
  }
  return {};
}

Status check_lane(const Model& model, std::size_t number) {
  const LaneSpec& lane = model.plan.lanes[number];
  const std::string whose = "lane " + std::to_string(number);
  const auto wrong = [&](const std::string& what) { return error(model, whose + ": " + what); };
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
  return check_bindings(model, type, lane.pulls, lane.pushes, whose);
}

// What the nodes of one kind read of their children is what the plan says.
bool fits_node(const TreePlan& plan, const Cell& cell, bool inner) {
  const std::uint32_t gathers = plan.binary && inner ? 2 : 0;
  const bool pulls = !inner || plan.inner_pulls;
  return cell.gathers == gathers && (!plan.binary || !cell.gathers_all) && (pulls || cell.pulls == 0) &&
         !cell.states.empty();
}

Status check_tree_plan(const Model& model) {
  const TreePlan& plan = model.tree;
  if (model.pools.size() != 1) return error(model, "a tree keeps its states in one pool");
  if (!plan.binary && plan.leaf != plan.inner) return error(model, "leaves read a list as inner nodes do");
  for (const bool inner : {false, true}) {
    const CellTypeId type = inner ? plan.inner : plan.leaf;
    const std::string whose = inner ? "inner nodes" : "leaves";
    if (type >= model.types.size()) return error(model, whose + ": their cell does not exist");
    if (!fits_node(plan, model.types[type].cell, inner))
      return error(model, whose + ": their cell reads what the tree does not give");
    Status bound = check_bindings(model, model.types[type], plan.pulls, plan.pushes, whose);
    if (!bound) return bound;
  }
  for (const OutputSpec& output : model.outputs) {
    if (output.every != model.outputs[0].every)
      return error(model, "a tree answers with all rows of every output, or with the root's of every one");
  }
  return {};
}

Status check_lanes(const Model& model) {
  if (Status status = model.plan.validate(); !status) return error(model, status.error().message);
  for (std::size_t lane = 0; lane < model.plan.lanes.size(); ++lane) {
    if (Status status = check_lane(model, lane); !status) return status;
  }
  return {};
}

}  // namespace

Status validate(const Model& model) {
  if (model.inputs.empty() || model.inputs.size() > kMaxInputs || model.outputs.size() > kMaxOutputs) {
    return error(model, "has too few or too many inputs or outputs");
  }
  for (const CellTypeSpec& type : model.types) {
    if (Status status = check_type(model, type); !status) return status;
  }
  return model.unfolding == Unfolding::kTree ? check_tree_plan(model) : check_lanes(model);
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

TreePlan rebased_tree(const Model& model, ModelId id, CellTypeId first_type, PoolId first_pool) {
  TreePlan plan = model.tree;
  plan.model = id;
  plan.pool += first_pool;
  plan.leaf += first_type;
  plan.inner += first_type;
  return plan;
}

}  // namespace volvox
