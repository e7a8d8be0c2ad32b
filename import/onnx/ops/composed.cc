#include <algorithm>
#include <utility>

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"
#include "import/onnx/normalised.h"

// Operators that are said by others.
namespace volvox::onnx_import {
namespace {

Quantity number(float x) {
  return known_reals({}, {x});
}

Quantity elu(CellWriter& w, const Quantity& x, float alpha) {
  return w.pointwise("elu", {x}, {.reals = {alpha}});
}

void selu(NodeCall& call) {
  const float alpha = call.real("alpha", 1.6732632F), gamma = call.real("gamma", 1.0507010F);
  call.outputs = {call.writer.mul(elu(call.writer, call.in(0), alpha), number(gamma))};
}

void celu(NodeCall& call) {
  const float alpha = call.real("alpha", 1);
  if (alpha == 0) refuse("divides by 0");
  CellWriter& w = call.writer;
  call.outputs = {w.mul(elu(w, w.mul(call.in(0), number(1 / alpha)), 1), number(alpha))};
}

void hard_swish(NodeCall& call) {
  CellWriter& w = call.writer;
  const Quantity line = w.add(w.mul(call.in(0), number(1.0F / 6)), number(0.5F));
  call.outputs = {w.mul(call.in(0), w.pointwise("clamp", {line}, {.reals = {0, 1}}))};
}

void mish(NodeCall& call) {
  CellWriter& w = call.writer;
  call.outputs = {w.mul(call.in(0), w.pointwise("tanh", {w.pointwise("softplus", {call.in(0)})}))};
}

void prelu(NodeCall& call) {
  CellWriter& w = call.writer;
  const Quantity below = w.pointwise("min", {call.in(0), number(0)});
  call.outputs = {w.add(w.pointwise("relu", {call.in(0)}), w.mul(below, call.in(1)))};
}

void softsign(NodeCall& call) {
  CellWriter& w = call.writer;
  const Quantity beyond = w.add(w.pointwise("abs", {call.in(0)}), number(1));
  call.outputs = {w.pointwise("div", {call.in(0), beyond})};
}

void sign(NodeCall& call) {
  CellWriter& w = call.writer;
  call.outputs = {
      w.sub(w.pointwise("greater", {call.in(0), number(0)}), w.pointwise("less", {call.in(0), number(0)}))};
  keep_whole(call);
}

// The place of the largest, the first of equals.
void arg_extreme(NodeCall& call) {
  CellWriter& w = call.writer;
  Quantity x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.integer("axis", 0), x.rank());
  if (call.integer("select_last_index", 0) != 0) refuse("takes the last of equals");
  if (x.is_known() || x.dtype != DType::kF32) refuse("is there for what the model computes");
  if (call.node.op == "ArgMin") x = w.pointwise("neg", {x});
  Shape shape = x.shape;
  shape[axis] = 1;
  const Quantity made =
      w.apply("argmax_axis", {x}, {.integers = {static_cast<std::int64_t>(axis)}}, shape, {}, DType::kI32);
  if (call.integer("keepdims", 1) == 0) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  call.outputs = {w.reshape(made, shape)};
}

// A table whose rows have one number that is other than the rest.
void one_hot(NodeCall& call) {
  constexpr std::int64_t kMaxDepth = 4096;
  const auto depths = call.integers_in(1);
  const KnownTensor values = as_real(call.known_in(2));
  const Quantity& ids = call.in(0);
  if (depths.size() != 1 || depths[0] < 1 || depths[0] > kMaxDepth || values->size() != 2)
    refuse("its depth is not from 1 to " + std::to_string(kMaxDepth));
  const std::size_t axis = NodeCall::axis(call.integer("axis", -1), ids.rank() + 1);
  if (axis != ids.rank() || ids.is_known())
    refuse("is there for ids that the model is given, along a last axis");
  const std::int64_t depth = depths[0];
  std::vector<float> numbers(static_cast<std::size_t>(depth * depth), values->reals[0]);
  for (std::int64_t i = 0; i < depth; ++i)
    numbers[static_cast<std::size_t>(i * depth + i)] = values->reals[1];
  call.outputs = {call.writer.look_up(known_reals({depth, depth}, std::move(numbers)).known, ids)};
}

// Each channel by itself, over all that it has.
void instance_norm(NodeCall& call) {
  CellWriter& w = call.writer;
  const Quantity& x = call.in(0);
  if (x.rank() < 3) refuse("its channels have one number each");
  Attributes axes;
  Shape shape = x.shape;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) {
    axes.integers.push_back(static_cast<std::int64_t>(axis));
    shape[axis] = 1;
  }
  const auto mean = [&](const Quantity& of) {
    return shape == of.shape ? of : w.apply("reduce_mean", {of}, axes, shape);
  };
  call.outputs = {normalised(call, x, mean)};
}

void running_sum(NodeCall& call) {
  constexpr std::int64_t kMaxTerms = 256;  // each is an operator
  CellWriter& w = call.writer;
  const Quantity& x = call.in(0);
  const auto axes = call.integers_in(1);
  if (axes.size() != 1) refuse("goes along more than one axis");
  const std::size_t axis = NodeCall::axis(axes[0], x.rank());
  const std::int64_t extent = x.shape[axis];
  if (extent < 1 || extent > kMaxTerms) refuse("sums " + std::to_string(extent) + " numbers one by one");
  if (call.integer("exclusive", 0) != 0) refuse("leaves out the one that each sum is of");
  const bool reverse = call.integer("reverse", 0) != 0;
  std::vector<Quantity> sums;
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::int64_t at = reverse ? extent - 1 - i : i;
    const Quantity one = w.slice(x, axis, at, at + 1);
    sums.push_back(sums.empty() ? one : w.add(sums.back(), one));
  }
  if (reverse) std::reverse(sums.begin(), sums.end());
  call.outputs = {w.concat(sums, axis)};
  keep_whole(call);
}

constexpr OpRule kRules[] = {
    {"Selu", selu},
    {"Celu", celu},
    {"HardSwish", hard_swish},
    {"Mish", mish},
    {"PRelu", prelu},
    {"Softsign", softsign},
    {"Sign", sign},
    {"ArgMax", arg_extreme, "the first of equals, of what the model computes"},
    {"ArgMin", arg_extreme, "the first of equals, of what the model computes"},
    {"OneHot", one_hot, "ids that the model is given, at most 4096 of them, along a last axis"},
    {"InstanceNormalization", instance_norm},
    {"CumSum", running_sum, "at most 256 numbers, or along the sequence of the model"},
};

}  // namespace

extern const std::span<const OpRule> kComposedRules;
const std::span<const OpRule> kComposedRules = kRules;

}  // namespace volvox::onnx_import
