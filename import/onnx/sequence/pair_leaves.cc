#include "import/onnx/sequence/pair_leaves.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cells/ops/ops.h"
#include "import/onnx/sequence/lane_draft.h"

namespace volvox::onnx_import {

Quantity PairLeaves::other(const Quantity& x) {
  if (x.is_known()) return x;
  const auto is_it = [&](const auto& one) { return !one.second.row && one.second.x.id == x.id; };
  const auto known = std::find_if(leaves_.begin(), leaves_.end(), is_it);
  const std::string name = known != leaves_.end() ? known->first : "pair" + std::to_string(leaves_.size());
  return add({x, std::nullopt}, name, x.shape, x.dtype);
}

Quantity PairLeaves::product(const Quantity& row, const Quantity& rows) {
  const std::int64_t width = row.shape.back();
  const std::int64_t heads = std::max(elements(row.shape), elements(rows.shape)) / width;
  return add({rows, row}, "pair" + std::to_string(leaves_.size()), {heads}, DType::kF32);
}

Quantity PairLeaves::add(Leaf leaf, const std::string& name, const Shape& shape, DType dtype) {
  leaves_[name] = std::move(leaf);
  return graph_.leaf({.lane = LaneDraft::kNoLane, .state = name}, shape, dtype);
}

const PairLeaves::Leaf* PairLeaves::find(const Quantity& made) const {
  if (made.is_known()) return nullptr;
  const Operator& op = graph_.writer().maker(made.id);
  const ValueId flat = op.is(kReshapeOp) ? op.inputs[0] : made.id;
  return is_leaf(flat) ? &leaf(flat) : nullptr;
}

PairLeaves::Parts PairLeaves::parts_of(const Quantity& value) const {
  Parts parts;
  std::set<ValueId> paired, own;
  for (const ValueId id : graph_.closure(value.id, [](ValueId) { return false; })) {
    if (is_leaf(id)) {
      parts.leaves.push_back(id);
      paired.insert(id);
      if (leaf(id).row) own.insert(leaf(id).row->id);
      continue;
    }
    if (graph_.is_leaf(id)) continue;
    const std::vector<ValueId>& inputs = graph_.writer().maker(id).inputs;
    const auto is_paired = [&](ValueId input) { return paired.contains(input); };
    if (std::none_of(inputs.begin(), inputs.end(), is_paired)) continue;
    paired.insert(id);
    std::copy_if(inputs.begin(), inputs.end(), std::inserter(own, own.end()),
                 [&](ValueId input) { return !is_paired(input); });
  }
  if (!paired.contains(value.id)) refuse("attends to all steps alike");
  parts.own.assign(own.begin(), own.end());
  return parts;
}

bool PairLeaves::is_leaf(ValueId id) const {
  const StatePlace* place = graph_.place_of(id);
  return place != nullptr && place->lane == LaneDraft::kNoLane;
}

}  // namespace volvox::onnx_import
