#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "import/onnx/graph_walk.h"
#include "import/onnx/node_call.h"
#include "import/onnx/sequence/lane_book.h"

namespace volvox::onnx_import {

// Rows that a window spans, at most: each request keeps them.
inline constexpr std::int64_t kMaxReach = 1024;

// How the layers of a graph use an axis.
struct AxisUse {
  bool as_steps = false;   // a recurrent layer goes along it …
  bool backwards = false;  // … from its end
  bool anew = false;       // … and does not begin with a state that is given
  bool as_batch = false;   // it is what a recurrent layer has several sequences along
  // Where rows are left out: so many times the rows that a step of the inputs has would do.
  std::int64_t more_rows = 1;
  std::int64_t least_steps = 1;  // of which something is left

  // A lane along it, which begins with this; an input that is neither a constant nor of the sequence is NaN.
  void add_lane(bool reverse) { backwards = backwards || reverse; }
  void add_start(const std::optional<Quantity>& start);
};

// A node over a sequence of any length, for what makes lanes of it: Quantity::steps says which axis of an
// input, and of an output, is that of the sequence.
struct StepCall {
  NodeCall& node;
  LaneBook& lanes;
  const GraphWalk::Scope& scope;
  AxisUse& use;              // of the axis that is taken for the sequence's
  bool turned = false;       // the steps of its inputs are in the other order
  std::int64_t missing = 0;  // rows of its inputs' last steps, and unless it says otherwise of its outputs'

  const Quantity& in(std::size_t i) const { return node.in(i); }
  std::optional<std::size_t> steps(std::size_t i) const {
    return node.has(i) ? node.in(i).steps : std::nullopt;
  }
  // Input 0 has them and no other does, or this refuses.
  std::size_t only_steps() const;
  // How many rows input i has of each step.
  std::int64_t rows(std::size_t i) const { return in(i).shape[*in(i).steps]; }
  // Refuses where these are several.
  void want_one_row(std::size_t i) const;
  // 1 for a row that is there and 0 for one that is not, along this axis of so many; one number of one row.
  Quantity there(std::int64_t rows, std::size_t axis, std::size_t rank) const;
  // A value of each step, with this number instead of what is missing.
  Quantity with(const Quantity& x, std::size_t axis, float instead) const;
  // The rows from `first` to `last` of a value of each step, along its axis, counted from the first one of
  // the step; zeros before the sequence and behind it.
  Quantity around(const Quantity& x, std::size_t axis, std::int64_t first, std::int64_t last) const;
  // Whether an input has a number for each pair of steps (attention.h).
  bool has_pairs() const;
  // What stands for the length of the sequence, or a little less, as the number that it is, in x's shape.
  Quantity length(const Quantity& x) const;
  // What the operator's own rule makes of these inputs; or that of another node.
  std::vector<Quantity> by_rule(std::vector<std::optional<Quantity>> inputs) const;
  std::vector<Quantity> by_rule(const Node& as, std::vector<std::optional<Quantity>> inputs) const;
  // One step by the operator's own rule, all of whose outputs have the sequence along this axis.
  void one_step(std::size_t axis) const;
  // An output; its steps are in the order of the inputs' unless told otherwise.
  void make(Quantity x, std::optional<std::size_t> axis) const { make(std::move(x), axis, turned); }
  void make(Quantity x, std::optional<std::size_t> axis, bool turned) const;
};

// What an operator of ONNX does along a sequence, where each step has its own result, or one end of it is
// picked. Each source in import/onnx/sequence/rules has some, k<File>StepRules, and nothing else names them.
struct StepRule {
  std::string_view op{};
  void (*write)(StepCall& call) = nullptr;  // refuses what it cannot
  bool may_miss = false;                    // knows what to do where rows are missing
  bool of_pairs = false;                    // … and where there is a number for each pair of steps
};

std::span<const std::span<const StepRule>* const> step_rules();
const StepRule* find_step_rule(std::string_view op);

}  // namespace volvox::onnx_import
