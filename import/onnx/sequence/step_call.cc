#include "import/onnx/sequence/step_call.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "import/onnx/sequence/open_length.h"

namespace volvox::onnx_import {

void AxisUse::add_start(const std::optional<Quantity>& start) {
  const auto is_open = [](float number) { return std::isnan(number); };
  const bool given = start && start->is_known() && start->known->is_real() &&
                     std::any_of(start->known->reals.begin(), start->known->reals.end(), is_open);
  anew = anew || !given;
}

std::size_t StepCall::only_steps() const {
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    if (steps(i)) refuse("has a sequence in more than its first input");
  }
  if (!steps(0)) refuse("depends on the length of the sequence, which may be any");
  return *steps(0);
}

void StepCall::want_one_row(std::size_t i) const {
  if (rows(i) != 1)
    refuse("has " + std::to_string(rows(i)) + " rows of each step, for later rows are left out");
}

Quantity StepCall::there(std::int64_t rows, std::size_t axis, std::size_t rank) const {
  const Quantity all = lanes.is_there(rows, missing);
  if (rows == 1) return all;
  Shape shape(rank, 1);
  shape[axis] = rows;
  return node.writer.reshape(all, shape);
}

Quantity StepCall::with(const Quantity& x, std::size_t axis, float instead) const {
  if (missing == 0) return x;
  return node.writer.pointwise("select",
                               {there(x.shape[axis], axis, x.rank()), x, known_reals({}, {instead})});
}

Quantity StepCall::around(const Quantity& x, std::size_t axis, std::int64_t first, std::int64_t last) const {
  const std::int64_t here = x.shape[axis];
  const std::int64_t behind = (std::max<std::int64_t>(-first, 0) + here - 1) / here,
                     ahead = (std::max<std::int64_t>(last - here + 1, 0) + here - 1) / here;
  CellWriter& w = node.writer;
  const std::int64_t size = elements(x.shape);
  std::vector<Quantity> parts;
  const auto add = [&](const Quantity& all, std::int64_t place) {
    parts.push_back(w.reshape(w.slice(all, 0, place * size, (place + 1) * size), x.shape));
  };
  // The nearest one stands last, which is the step's own.
  if (behind > 0) {
    const Quantity all = lanes.rows_before(x, behind + 1, turned);
    use.add_lane(turned);
    for (std::int64_t i = 0; i <= behind; ++i) add(all, i);
  }
  if (ahead > 0) {
    const Quantity all = lanes.rows_before(x, ahead + 1, !turned);
    use.add_lane(!turned);
    for (std::int64_t i = behind > 0 ? ahead - 1 : ahead; i >= 0; --i) add(all, i);
  }
  if (parts.empty()) parts.push_back(x);
  const std::int64_t begin = behind * here + first;
  return w.slice(w.concat(parts, axis), axis, begin, begin + last - first + 1);
}

bool StepCall::has_pairs() const {
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (node.has(i) && in(i).pairs != Quantity::Pairs::kNone) return true;
  }
  return false;
}

Quantity StepCall::length(const Quantity& x) const {
  const std::int64_t number = x.known->integers.size() == 1 ? x.known->integers[0] : 0;
  if (!is_open(number) || from_the_end(number) > 0) refuse_length();
  return node.writer.reshape(lanes.count(rows_of_open(number), -from_the_end(number)), x.shape);
}

std::vector<Quantity> StepCall::by_rule(std::vector<std::optional<Quantity>> inputs) const {
  return by_rule(node.node, std::move(inputs));
}

std::vector<Quantity> StepCall::by_rule(const Node& as, std::vector<std::optional<Quantity>> inputs) const {
  NodeCall one(node.writer, as, node.opset, std::move(inputs));
  find_rule(as.op)->write(one);
  return std::move(one.outputs);
}

void StepCall::one_step(std::size_t axis) const {
  std::vector<std::optional<Quantity>> inputs;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    inputs.push_back(node.has(i) ? std::optional(node.in(i)) : std::nullopt);
    if (!inputs.back()) continue;
    if (has_open(*inputs.back())) refuse_length();
    inputs.back()->steps.reset();
  }
  for (Quantity& made : by_rule(std::move(inputs))) make(std::move(made), axis);
}

void StepCall::make(Quantity x, std::optional<std::size_t> axis, bool is_turned) const {
  x.steps = axis;
  const bool varies = axis && !x.is_known();  // what is known is the same at every step
  x.turned = is_turned && varies;
  x.missing = axis ? missing : 0;
  x.joined = false;
  if (varies && missing > 0) use.least_steps = std::max(use.least_steps, x.missing / x.shape[*axis] + 1);
  node.outputs.push_back(std::move(x));
}

const StepRule* find_step_rule(std::string_view op) {
  for (const auto* rules : step_rules()) {
    for (const StepRule& rule : *rules) {
      if (rule.op == op) return &rule;
    }
  }
  return nullptr;
}

}  // namespace volvox::onnx_import
