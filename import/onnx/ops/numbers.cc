#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

void constant(NodeCall& call) {
  const Node& node = call.node;
  if (const NodeAttribute* value = node.find("value"); value != nullptr && value->tensor != nullptr) {
    call.outputs = {known(value->tensor)};
  } else if (const NodeAttribute* number = node.find("value_float")) {
    call.outputs = {known_reals({}, {number->real.value_or(0)})};
  } else if (const NodeAttribute* whole = node.find("value_int")) {
    call.outputs = {known_integers({}, {whole->integer.value_or(0)})};
  } else if (const NodeAttribute* floats = node.find("value_floats")) {
    call.outputs = {known_reals({static_cast<std::int64_t>(floats->reals.size())}, floats->reals)};
  } else if (const NodeAttribute* ints = node.find("value_ints")) {
    call.outputs = {known_integers({static_cast<std::int64_t>(ints->integers.size())}, ints->integers)};
  } else {
    refuse("its value is neither a tensor nor numbers");
  }
}

void constant_of_shape(NodeCall& call) {
  Shape shape = call.integers_in(0);
  const auto count = static_cast<std::size_t>(checked_elements(shape));
  const NodeAttribute* value = call.node.find("value");
  const KnownTensor one = value == nullptr ? nullptr : value->tensor;
  if (one != nullptr && one->size() != 1) refuse("its value is no single number");
  if (one != nullptr && !one->is_real()) {
    call.outputs = {known_integers(std::move(shape), std::vector<std::int64_t>(count, one->integers[0]))};
  } else {
    call.outputs = {
        known_reals(std::move(shape), std::vector<float>(count, one == nullptr ? 0 : one->reals[0]))};
  }
}

void shape(NodeCall& call) {
  const Shape& all = call.in(0).shape;
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto counted = [&](std::int64_t written) {
    return std::clamp<std::int64_t>(written < 0 ? written + rank : written, 0, rank);
  };
  const std::int64_t begin = counted(call.integer("start", 0)), end = counted(call.integer("end", rank));
  Shape extents;
  if (begin < end) extents.assign(all.begin() + begin, all.begin() + end);
  const auto count = static_cast<std::int64_t>(extents.size());
  call.outputs = {known_integers({count}, std::move(extents))};
}

void size(NodeCall& call) {
  call.outputs = {known_integers({}, {elements(call.in(0).shape)})};
}

void range(NodeCall& call) {
  const bool real = call.known_in(0)->is_real();
  const float start = call.number_in(0), limit = call.number_in(1), delta = call.number_in(2);
  const float steps = std::ceil((limit - start) / delta);
  if (!(steps < 1e6F)) refuse("counts too many numbers");
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  for (float i = 0; i < steps; ++i) {
    reals.push_back(start + i * delta);
    integers.push_back(static_cast<std::int64_t>(reals.back()));
  }
  const auto count = static_cast<std::int64_t>(reals.size());
  call.outputs = {real ? known_reals({count}, std::move(reals))
                       : known_integers({count}, std::move(integers))};
}

Shape without(const Shape& shape, const std::vector<std::size_t>& axes, bool keep) {
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced || keep) left.push_back(reduced ? 1 : shape[axis]);
  }
  return left;
}

template <const char* const& op>
void reduce(NodeCall& call) {
  const Quantity& x = call.in(0);
  const std::vector<std::size_t> axes = call.reduced_axes(x.rank());
  const bool keep = call.integer("keepdims", 1) != 0;
  const Shape kept = without(x.shape, axes, true), wanted = without(x.shape, axes, keep);
  if (kept == x.shape) {
    call.outputs = {call.writer.reshape(x, wanted)};
    return;
  }
  Attributes attributes;
  attributes.integers.assign(axes.begin(), axes.end());
  call.outputs = {call.writer.reshape(call.writer.apply(op, {x}, std::move(attributes), kept), wanted)};
  keep_whole(call);
}
constexpr const char* kSum = "reduce_sum";
constexpr const char* kMean = "reduce_mean";
constexpr const char* kMax = "reduce_max";
constexpr const char* kMin = "reduce_min";

// Of what is made of each number first; and of the sum something else.
void reduce_otherwise(NodeCall& call) {
  CellWriter& w = call.writer;
  const std::string& op = call.node.op;
  const Quantity& x = call.in(0);
  const std::vector<std::size_t> axes = call.reduced_axes(x.rank());
  const Shape kept = without(x.shape, axes, true);
  Attributes attributes;
  attributes.integers.assign(axes.begin(), axes.end());
  const auto reduced = [&](std::string_view how, const Quantity& of) {
    return kept == of.shape ? of : w.apply(how, {of}, attributes, kept);
  };
  Quantity made;
  if (op == "ReduceLogSumExp") {
    const Quantity largest = reduced("reduce_max", x);
    const Quantity sum = reduced("reduce_sum", w.pointwise("exp", {w.sub(x, largest)}));
    made = w.add(largest, w.pointwise("log", {sum}));
  } else {
    const Quantity each = op == "ReduceL1" ? w.pointwise("abs", {x}) : op == "ReduceLogSum" ? x : w.mul(x, x);
    made = reduced("reduce_sum", each);
    if (op == "ReduceL2") made = w.pointwise("sqrt", {made});
    if (op == "ReduceLogSum") made = w.pointwise("log", {made});
  }
  call.outputs = {w.reshape(made, without(x.shape, axes, call.integer("keepdims", 1) != 0))};
}

void product_of_all(NodeCall& call) {
  if (call.known_in(0)->is_real()) refuse("multiplies numbers that are not whole");
  std::int64_t product = 1;
  for (const std::int64_t number : call.integers_in(0)) {
    if (number < 0 || (number > 0 && product > std::numeric_limits<std::int64_t>::max() / number))
      refuse("is too large");
    product *= number;
  }
  call.outputs = {known_integers(
      without(call.in(0).shape, call.reduced_axes(call.in(0).rank()), call.integer("keepdims", 1) != 0),
      {product})};
  if (elements(call.outputs[0].shape) != 1) refuse("makes more than one number");
}

// Of one element along the axis, that; else by the cell's own operator.
void top_k(NodeCall& call) {
  const Quantity& x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.integer("axis", -1), x.rank());
  const auto counts = call.integers_in(1);
  const std::int64_t count = counts.size() == 1 ? counts[0] : 0;
  if (count < 1 || count > x.shape[axis]) refuse("takes more elements than there are, or none");
  if (x.shape[axis] == 1) {
    call.outputs = {x, known_integers(x.shape, std::vector<std::int64_t>(
                                                   static_cast<std::size_t>(elements(x.shape)), 0))};
    return;
  }
  if (x.is_known() || x.dtype != DType::kF32 || axis + 1 != x.rank() || call.integer("largest", 1) == 0)
    refuse("is there for the largest along the last axis, of what the model computes");
  Shape shape = x.shape;
  shape[axis] = count;
  call.outputs = {call.writer.apply("top_k", {x}, {.integers = {count}}, shape),
                  call.writer.apply("top_k_indices", {x}, {.integers = {count}}, shape, {}, DType::kI32)};
}

void scatter_elements(NodeCall& call) {
  const KnownTensor x = as_integer(call.known_in(0)), updates = as_integer(call.known_in(2));
  const std::vector<std::int64_t> places = call.integers_in(1);
  if (call.in(0).known->is_real() || call.in(2).known->is_real() || x->shape.size() != 1 ||
      places.size() != updates->size() || call.text("reduction", "none") != "none")
    refuse("is there for known vectors of whole numbers");
  std::vector<std::int64_t> made = x->integers;
  for (std::size_t i = 0; i < places.size(); ++i)
    made[static_cast<std::size_t>(NodeCall::index(places[i], static_cast<std::int64_t>(made.size())))] =
        updates->integers[i];
  call.outputs = {known_integers(x->shape, std::move(made))};
}

// Before opset 13 all axes from `axis` on were one.
template <const char* const& op>
void softmax(NodeCall& call) {
  const Quantity& x = call.in(0);
  const bool old = call.opset < 13;
  const std::size_t axis = NodeCall::axis(call.integer("axis", old ? 1 : -1), x.rank());
  CellWriter& w = call.writer;
  if (old) {
    const auto middle = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
    const Quantity rows =
        w.reshape(x, {elements({x.shape.begin(), middle}), elements({middle, x.shape.end()})});
    call.outputs = {w.reshape(w.pointwise(op, {rows}), x.shape)};
    return;
  }
  std::vector<std::int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order.back());
  call.outputs = {w.transpose(w.pointwise(op, {w.transpose(x, order)}), order)};
}
constexpr const char* kSoftmax = "softmax";
constexpr const char* kLogSoftmax = "log_softmax";

void layer_norm(NodeCall& call) {
  const Quantity& x = call.in(0);
  if (NodeCall::axis(call.integer("axis", -1), x.rank()) + 1 != x.rank())
    refuse("goes over more than one axis");
  CellWriter& w = call.writer;
  const float epsilon = call.real("epsilon", 1e-5F);
  Quantity made = w.pointwise("layer_norm", {x}, {.reals = {epsilon}});
  made = w.mul(made, call.in(1));
  call.outputs = {call.has(2) ? w.add(made, call.in(2)) : made};
}

// x·scale/√(variance + ε) + the rest, for each channel.
void batch_norm(NodeCall& call) {
  const Quantity& x = call.in(0);
  if (x.rank() < 2) refuse("has no channels");
  if (call.integer("training_mode", 0) != 0) refuse("is in training; export it for inference");
  CellWriter& w = call.writer;
  Shape channels(x.rank(), 1);
  channels[1] = x.shape[1];
  const auto of_channel = [&](std::size_t i) { return w.reshape(known(call.known_in(i)), channels); };
  const Quantity spread =
      w.pointwise("sqrt", {w.add(of_channel(4), known_reals({}, {call.real("epsilon", 1e-5F)}))});
  const Quantity scale = w.pointwise("div", {of_channel(1), spread});
  const Quantity shift = w.sub(of_channel(2), w.mul(of_channel(3), scale));
  call.outputs = {w.pointwise("mul_add", {x, scale, shift})};
}

constexpr OpRule kRules[] = {
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape, "known shape"},
    {"Shape", shape},
    {"Size", size},
    {"Range", range, "of what is known"},
    {"TopK", top_k, "the largest along the last axis"},
    {"ScatterElements", scatter_elements, "known vectors of whole numbers"},
    {"ReduceSum", reduce<kSum>, "known axes"},
    {"ReduceMean", reduce<kMean>, "known axes"},
    {"ReduceMax", reduce<kMax>, "known axes"},
    {"ReduceMin", reduce<kMin>, "known axes"},
    {"ReduceL1", reduce_otherwise},
    {"ReduceL2", reduce_otherwise},
    {"ReduceSumSquare", reduce_otherwise},
    {"ReduceLogSum", reduce_otherwise},
    {"ReduceLogSumExp", reduce_otherwise},
    {"ReduceProd", product_of_all, "known whole numbers, to one"},
    {"Softmax", softmax<kSoftmax>},
    {"LogSoftmax", softmax<kLogSoftmax>},
    {"LayerNormalization", layer_norm, "along the last axis"},
    {"BatchNormalization", batch_norm, "as in inference"},
};

}  // namespace

extern const std::span<const OpRule> kNumbersRules;
const std::span<const OpRule> kNumbersRules = kRules;

}  // namespace volvox::onnx_import
