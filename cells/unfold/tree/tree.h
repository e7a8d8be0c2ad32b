#pragma once

#include "cells/unfold/tree/tree_plan.h"
#include "cells/unfold/unfolding.h"

namespace volvox {

// Over a tree: each node is a cell, and reads the states of its children.
class TreeUnfolding final : public Unfolding {
 public:
  // With the model's own numbers.
  explicit TreeUnfolding(const TreePlan& plan) : plan_(plan) {}

  const TreePlan& plan() const { return plan_; }

  std::string_view takes(const Model&) const override { return plan_.binary ? "binary tree" : "tree"; }
  std::string_view row_name() const override { return "node"; }
  std::string_view last_row_name() const override { return "of the root"; }
  Status validate(const Model& model) const override;
  Result<Extent> check(const Structure& structure, const Model& model) const override;
  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure& structure,
                                                 const ModelNumbers& numbers) const override;
  std::span<const std::uint8_t> pulls() const override { return plan_.pulls; }
  std::span<const LanePush> pushes() const override { return plan_.pushes; }
  std::uint64_t cells(const Model&, const Lengths& lengths) const override { return lengths[0]; }
  // Its nodes with a state at once; the scheduler finds the true number.
  std::uint64_t slots(const Model&, PoolId, const Lengths& lengths) const override { return lengths[0]; }
  ReferenceOrder reference_order(const Structure& structure, const Model& model) const override;

 private:
  TreePlan plan_;
};

}  // namespace volvox
