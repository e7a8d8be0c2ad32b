#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

constexpr const char* kMixes = "goes over the steps of the sequence, which are not all there at once";

// The axes that a reduction goes over; none written: all of them.
std::vector<std::size_t> reduced_axes(const NodeCall& call, std::size_t rank) {
  const auto written = call.integers_of("axes", 1).value_or(std::vector<std::int64_t>());
  std::vector<std::size_t> axes;
  for (const std::int64_t one : written) axes.push_back(NodeCall::axis(one, rank));
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) == 0) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

// Over all steps, and over other axes of each before that.
void pool(StepCall& call, std::size_t steps, std::vector<std::size_t> axes) {
  const std::string_view op = call.node.node.op == "ReduceMax"    ? "segment_max"
                              : call.node.node.op == "ReduceMean" ? "segment_mean"
                              : call.node.node.op == "ReduceSum"  ? "segment_sum"
                                                                  : "";
  if (op.empty()) refuse(kMixes);
  std::erase(axes, steps);
  Quantity x = call.in(0);
  x.steps.reset();
  Shape shape = x.shape, left;
  Attributes others;
  for (const std::size_t axis : axes) {
    others.integers.push_back(static_cast<std::int64_t>(axis));
    shape[axis] = 1;
  }
  CellWriter& w = call.node.writer;
  const std::string_view of_step = op == "segment_max"    ? "reduce_max"
                                   : op == "segment_mean" ? "reduce_mean"
                                                          : "reduce_sum";
  if (shape != x.shape) x = w.apply(of_step, {x}, std::move(others), shape);
  const bool keep = call.node.integer("keepdims", 1) != 0;
  axes.push_back(steps);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (keep || std::find(axes.begin(), axes.end(), axis) == axes.end()) left.push_back(shape[axis]);
  }
  call.make(w.reshape(call.lanes.over_all(x, op), left), std::nullopt);
}

void reduce(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const auto axes = reduced_axes(call.node, call.in(0).rank());
  if (std::find(axes.begin(), axes.end(), steps) != axes.end()) return pool(call, steps, axes);
  const auto before = std::count_if(axes.begin(), axes.end(), [&](std::size_t axis) { return axis < steps; });
  const bool keep = call.node.integer("keepdims", 1) != 0;
  call.one_step(keep ? steps : steps - static_cast<std::size_t>(before));
}

// Before opset 13 all axes from `axis` on were one.
void softmax(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const bool old = call.node.opset < 13;
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", old ? 1 : -1), call.in(0).rank());
  if (axis == steps || (old && axis < steps)) refuse(kMixes);
  call.one_step(steps);
}

void layer_norm(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps + 1 == call.in(0).rank()) refuse(kMixes);
  for (std::size_t i = 1; i < call.node.inputs(); ++i) {
    if (call.node.has(i) && call.in(i).rank() > 1) refuse("has a scale of more than one axis");
  }
  call.one_step(steps);
}

// Channels are axis 1.
void batch_norm(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 1) refuse("has the steps of the sequence as its channels");
  call.one_step(steps);
}

// Images of their own, one a step.
void windows(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps != 0) refuse(kMixes);
  call.one_step(steps);
}

void pad(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const auto pads = call.node.integers_of("pads", 1).value_or(std::vector<std::int64_t>());
  const std::size_t rank = call.in(0).rank();
  if (pads.size() != 2 * rank) refuse("its pads are not those of " + to_string(call.in(0).shape));
  if (pads[steps] != 0 || pads[steps + rank] != 0) refuse("makes the sequence longer or shorter");
  call.one_step(steps);
}

void matmul(StepCall& call) {
  const Quantity &a = call.in(0), &b = call.in(1);
  if (a.rank() < 2 || b.rank() < 2) {
    const bool row = a.rank() == 2 && b.rank() == 1 && call.steps(0) == 0;
    if (!row) refuse(kMixes);
    return call.one_step(0);
  }
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::optional<std::size_t> axis;  // of the result
  for (std::size_t i = 0; i < 2; ++i) {
    const auto steps = call.steps(i);
    if (!steps) continue;
    const std::size_t from_last = call.in(i).rank() - *steps;
    const std::size_t summed = i == 0 ? 1 : 2;
    if (from_last == summed) refuse("sums over the steps of the sequence, which are not all there at once");
    const bool leading = from_last > 2;
    const Quantity& other = call.in(1 - i);
    if (call.steps(1 - i) && !(leading && other.rank() - *call.steps(1 - i) == from_last))
      refuse("multiplies steps of the sequence with each other: attention is not served this way");
    if (leading && !call.steps(1 - i) && other.rank() >= from_last &&
        other.shape[other.rank() - from_last] != 1)
      refuse("has a matrix for each step of the sequence, whose length may be any");
    axis = rank - from_last;
  }
  call.one_step(*axis);
}

void gemm(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (call.in(0).rank() != 2) refuse("multiplies what is no matrix");
  const bool turned = call.node.integer("transA", 0) != 0;
  if (steps != (turned ? 1U : 0U)) refuse(kMixes);
  if (call.node.has(2) && call.in(2).rank() == 2 && call.in(2).shape[0] != 1)
    refuse("adds a row for each step of the sequence, whose length may be any");
  call.one_step(0);
}

constexpr StepRule kRules[] = {
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"LayerNormalization", layer_norm},
    {"BatchNormalization", batch_norm},
    {"Conv", windows},
    {"MaxPool", windows},
    {"AveragePool", windows},
    {"GlobalAveragePool", windows},
    {"Pad", pad},
    {"MatMul", matmul},
    {"Gemm", gemm},
};

}  // namespace

extern const std::span<const StepRule> kAxesStepRules;
const std::span<const StepRule> kAxesStepRules = kRules;

}  // namespace volvox::onnx_import
