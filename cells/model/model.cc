#include "cells/model/model.h"

#include <algorithm>
#include <limits>
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

Lengths lengths_for(const Model& model, std::uint32_t given) {
  Lengths lengths{};
  for (std::size_t i = 0; i < model.sequences.size(); ++i) {
    const SequenceSpec& sequence = model.sequences[i];
    const bool is_given = sequence.kind == SequenceSpec::Kind::kGiven;
    lengths[i] = is_given ? std::min(given, sequence.max_length) : sequence.max_length;
  }
  return lengths;
}

Lengths longest_lengths(const Model& model) {
  return lengths_for(model, std::numeric_limits<std::uint32_t>::max());
}

bool stops_by_itself(const Model& model) {
  return std::any_of(model.sequences.begin(), model.sequences.end(), [](const SequenceSpec& sequence) {
    return sequence.kind == SequenceSpec::Kind::kStopped;
  });
}

static Status check_sequences(const Model& model) {
  if (model.sequences.empty() || model.sequences.size() > LanePlan::kMaxLengths)
    return model_error(model, "has too few or too many sequences");
  const auto is_there = [&](const auto& tensor) { return tensor.sequence < model.sequences.size(); };
  if (!std::all_of(model.inputs.begin(), model.inputs.end(), is_there) ||
      !std::all_of(model.outputs.begin(), model.outputs.end(), is_there))
    return model_error(model, "an input or output is of a sequence that does not exist");
  const auto leaves_some = [&](const OutputSpec& output) {
    return output.fewer < model.sequences[output.sequence].min_length;
  };
  if (std::all_of(model.outputs.begin(), model.outputs.end(), leaves_some)) return {};
  return model_error(model, "an output may have no row at all");
}

Status validate(const Model& model) {
  if (model.inputs.empty() || model.inputs.size() > kMaxInputs || model.outputs.size() > kMaxOutputs) {
    return model_error(model, "has too few or too many inputs or outputs");
  }
  if (Status status = check_sequences(model); !status) return status;
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
