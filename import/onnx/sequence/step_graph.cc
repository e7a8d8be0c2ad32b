#include "import/onnx/sequence/step_graph.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "cells/ops/ops.h"

namespace volvox::onnx_import {
namespace {

bool is_one_of(const Operator& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op.def->name) != names.end();
}

}  // namespace

void StepGraph::Needs::add(const Needs& other) {
  lanes.insert(other.lanes.begin(), other.lanes.end());
  inputs.insert(other.inputs.begin(), other.inputs.end());
  computes = computes || other.computes;
}

// A cell's gather 0 is of its own lane.
bool StepGraph::Needs::fit() const {
  return lanes.size() < kMaxGathers && inputs.size() <= kMaxPulls;
}

const StatePlace* StepGraph::place_of(ValueId value) const {
  const auto found = places_.find(value);
  return found == places_.end() ? nullptr : &found->second;
}

Quantity StepGraph::leaf(const StatePlace& place, const Shape& shape, DType dtype) {
  Quantity& flat = leaves_[place];
  if (flat.id == kNoValue) {
    flat = writer_.gather(place.state, {elements(shape)}, 0, dtype);
    places_[flat.id] = place;
  }
  return writer_.reshape(flat, shape);
}

bool StepGraph::is_leaf(ValueId value) const {
  return places_.contains(value) || writer_.maker(value).is(kPullOp);
}

bool StepGraph::is_stepwise(ValueId value) {
  while (stepwise_.size() < writer_.values()) {
    const auto id = static_cast<ValueId>(stepwise_.size());
    const Operator& op = writer_.maker(id);
    bool stepwise = op.is(kPullOp);
    if (op.is(kGatherOp)) {
      const StatePlace& place = places_.at(id);
      stepwise = !place.last && !place.once;
    }
    for (const ValueId input : op.inputs) stepwise = stepwise || stepwise_[input];
    stepwise_.push_back(stepwise);
  }
  return stepwise_[value];
}

std::map<ValueId, StepGraph::Needs> StepGraph::needs_below(ValueId value) const {
  std::map<ValueId, Needs> all;
  for (const ValueId id : closure(value, [](ValueId) { return false; })) {
    Needs& needs = all[id];
    const Operator& op = writer_.maker(id);
    if (const StatePlace* place = place_of(id)) {
      needs.lanes.emplace(place->lane, place->last);
    } else if (op.is(kPullOp)) {
      needs.inputs.insert(op.index);
    } else {
      needs.computes = !is_one_of(op, {"embed", "reshape", "concat_axis"});
      for (const ValueId input : op.inputs) needs.add(all.at(input));
    }
  }
  return all;
}

Quantity StepGraph::remade(CellWriter& to, ValueId value, const std::map<ValueId, Quantity>& known) const {
  Operator op = writer_.maker(value);
  const Quantity as = writer_.value_of(value);
  std::vector<Quantity> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(known.at(input));
  if (op.is(kReshapeOp)) return to.reshape(inputs.front(), as.shape);
  const auto leads = [&](std::size_t axis) {
    return std::all_of(as.shape.begin(), as.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                       [](std::int64_t extent) { return extent == 1; });
  };
  Shape shape = as.shape;
  // In a lane's cell vectors, one after another: products can read them where they lie.
  if (&to != &writer_ && op.def->name == "concat_axis" && as.dtype == DType::kF32 &&
      leads(static_cast<std::size_t>(op.attributes.integers[0]))) {
    op.def = &kConcatOp;
    op.attributes = {};
    for (Quantity& input : inputs) input = to.flat(input);
    shape = {elements(as.shape)};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) op.inputs[i] = inputs[i].id;
  return to.reshape(to.emit(std::move(op), std::move(shape), as.dtype), as.shape);
}

}  // namespace volvox::onnx_import
