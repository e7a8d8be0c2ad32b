#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "import/onnx/normalised.h"
#include "import/onnx/sequence/attention.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

constexpr const char* kMixes = "goes over the steps of the sequence, which are not all there at once";

// What is made of each number before all are put together, and of that afterwards.
struct Pooling {
  std::string_view op{}, of_step{}, of_steps{}, before{}, after{};
};

constexpr Pooling kPoolings[] = {
    {"ReduceMax", "reduce_max", "segment_max"},
    {"ReduceMin", "reduce_max", "segment_max", "neg", "neg"},
    {"ReduceMean", "reduce_mean", "segment_mean"},
    {"ReduceSum", "reduce_sum", "segment_sum"},
    {"ReduceL1", "reduce_sum", "segment_sum", "abs"},
    {"ReduceL2", "reduce_sum", "segment_sum", "square", "sqrt"},
    {"ReduceSumSquare", "reduce_sum", "segment_sum", "square"},
    {"ReduceLogSum", "reduce_sum", "segment_sum", {}, "log"},
};

constexpr float kLowest = std::numeric_limits<float>::lowest();

// Over all steps, and over other axes of each before that.
void pool(StepCall& call, std::string_view how, std::size_t steps, std::vector<std::size_t> axes) {
  // Of those that are there, whose number is not that of the steps.
  const bool mean_of_some = how == "ReduceMean" && call.missing > 0;
  const auto* pooling =
      std::ranges::find(kPoolings, mean_of_some ? std::string_view("ReduceSum") : how, &Pooling::op);
  if (pooling == std::end(kPoolings)) refuse(kMixes);
  if (call.rows(0) == 1) std::erase(axes, steps);
  Quantity x = call.in(0);
  x.steps.reset();
  Shape shape = x.shape, left;
  Attributes others;
  for (const std::size_t axis : axes) {
    others.integers.push_back(static_cast<std::int64_t>(axis));
    shape[axis] = 1;
  }
  CellWriter& w = call.node.writer;
  const auto weighing = x.weighing;
  if (pooling->before == "square") {
    x = w.mul(x, x);
  } else if (!pooling->before.empty()) {
    x = w.pointwise(pooling->before, {x});
  }
  x = call.with(x, steps, pooling->of_steps == "segment_max" ? kLowest : 0);
  if (shape != x.shape) x = w.apply(pooling->of_step, {x}, std::move(others), shape);
  const bool keep = call.node.integer("keepdims", 1) != 0;
  if (call.rows(0) == 1) axes.push_back(steps);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (keep || std::find(axes.begin(), axes.end(), axis) == axes.end()) left.push_back(shape[axis]);
  }
  const bool weighed = how == "ReduceSum" && weighing != nullptr && weighing->values && axes.size() == 1;
  const auto weighed_sum = [&] {
    const Quantity& values = *weighing->values;
    const std::size_t from_last = call.in(0).rank() - steps;
    return call.lanes.weighed_sum(weighing->scores, call.with(values, values.rank() - from_last, 0));
  };
  const Quantity all = weighed ? weighed_sum() : call.lanes.over_all(x, pooling->of_steps);
  Quantity made = w.reshape(all, left);
  if (mean_of_some) {
    std::int64_t others = 1;
    for (const std::size_t axis : axes) others *= axis == steps ? 1 : call.in(0).shape[axis];
    const Quantity count =
        w.mul(call.lanes.count(call.rows(0), call.missing), known_reals({}, {static_cast<float>(others)}));
    made = w.pointwise("div", {made, count});
  }
  if (!pooling->after.empty()) made = w.pointwise(pooling->after, {made});
  call.make(std::move(made), std::nullopt);
}

void reduce(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const auto axes = call.node.reduced_axes(call.in(0).rank());
  if (std::find(axes.begin(), axes.end(), steps) != axes.end())
    return pool(call, call.node.node.op, steps, axes);
  const auto before = std::count_if(axes.begin(), axes.end(), [&](std::size_t axis) { return axis < steps; });
  const bool keep = call.node.integer("keepdims", 1) != 0;
  call.one_step(keep ? steps : steps - static_cast<std::size_t>(before));
}

// Over all axes but the batch and the channels.
void global_pool(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 1) refuse("has the steps of the sequence as its channels");
  if (steps == 0) return call.one_step(steps);
  std::vector<std::size_t> axes;
  for (std::size_t axis = 2; axis < call.in(0).rank(); ++axis) axes.push_back(axis);
  pool(call, call.node.node.op == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean", steps, axes);
}

// What the steps have in common is known at the end, and only then each has its share.
void over_steps(StepCall& call, std::size_t steps) {
  Quantity x = call.in(0);
  x.steps.reset();
  x = call.with(x, steps, kLowest);
  CellWriter& w = call.node.writer;
  const auto over = [&](const Quantity& of, std::string_view of_step, std::string_view of_steps) {
    Shape one = of.shape;
    one[steps] = 1;
    const auto axis = static_cast<std::int64_t>(steps);
    return call.lanes.over_all(one == of.shape ? of : w.apply(of_step, {of}, {.integers = {axis}}, one),
                               of_steps);
  };
  const Quantity above = w.sub(x, over(x, "reduce_max", "segment_max"));
  const Quantity each = w.pointwise("exp", {above});
  const Quantity sum = over(each, "reduce_sum", "segment_sum");
  const bool log = call.node.node.op == "LogSoftmax";
  Quantity made = log ? w.sub(above, w.pointwise("log", {sum})) : w.pointwise("div", {each, sum});
  if (!log && call.rows(0) == 1) made.weighing = std::make_shared<const Weighing>(Weighing{.scores = x});
  call.make(std::move(made), steps);
}

// Before opset 13 all axes from `axis` on were one.
void softmax(StepCall& call) {
  if (call.has_pairs()) return share_pairs(call);
  const std::size_t steps = call.only_steps();
  const bool old = call.node.opset < 13;
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", old ? 1 : -1), call.in(0).rank());
  if (axis != steps && (!old || axis > steps)) return call.one_step(steps);
  const Shape& shape = call.in(0).shape;
  const bool alone = elements({shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()}) == 1;
  if (old && !alone) refuse(kMixes);
  over_steps(call, steps);
}

// Along what each step has.
void arg_extreme(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", 0), call.in(0).rank());
  if (axis == steps) refuse(kMixes);
  const bool gone = call.node.integer("keepdims", 1) == 0 && axis < steps;
  call.one_step(gone ? steps - 1 : steps);
}

void one_hot(StepCall& call) {
  call.one_step(call.only_steps());
}

// Each channel over all steps, and what each has of it.
void instance_norm(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 1) refuse("has the steps of the sequence as its channels");
  if (steps == 0) return call.one_step(steps);
  Quantity x = call.in(0);
  x.steps.reset();
  CellWriter& w = call.node.writer;
  Attributes axes;
  Shape shape = x.shape;
  std::int64_t others = 1;  // numbers of a row
  for (std::size_t axis = 2; axis < x.rank(); ++axis) {
    if (x.shape[axis] != 1) axes.integers.push_back(static_cast<std::int64_t>(axis));
    if (axis != steps) others *= x.shape[axis];
    shape[axis] = 1;
  }
  const auto all_of = [&](const Quantity& of, std::string_view of_step, std::string_view of_steps) {
    return call.lanes.over_all(shape == of.shape ? of : w.apply(of_step, {of}, axes, shape), of_steps);
  };
  const auto mean = [&](const Quantity& of) {
    if (call.missing == 0) return all_of(of, "reduce_mean", "segment_mean");
    const Quantity count =
        w.mul(call.lanes.count(call.rows(0), call.missing), known_reals({}, {static_cast<float>(others)}));
    return w.pointwise("div", {all_of(call.with(of, steps, 0), "reduce_sum", "segment_sum"), count});
  };
  call.make(normalised(call.node, x, mean), steps);
  call.node.outputs.back().joined = call.in(0).joined;
}

// What the steps up to each have in all.
void running_sum(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const auto axis = call.node.integers_in(1);
  if (axis.size() != 1) refuse("goes along more than one axis");
  if (NodeCall::axis(axis[0], call.in(0).rank()) != steps) return call.one_step(steps);
  call.want_one_row(0);
  if (call.node.integer("exclusive", 0) != 0) refuse("leaves out the step that it is of");
  Quantity x = call.in(0);
  x.steps.reset();
  if (x.is_known() || x.dtype != DType::kF32) refuse("is there for what the model computes");
  const bool reverse = (call.node.integer("reverse", 0) != 0) != call.turned;
  const std::size_t lane = call.lanes.begin("sum", {x}, reverse);
  call.use.add_lane(reverse);
  call.use.as_steps = call.use.anew = true;
  CellWriter& cell = call.lanes.draft(lane).cell;
  const Quantity before = cell.gather("sum", {elements(x.shape)});
  call.lanes.keep(lane, "sum", cell.add(before, cell.flat(call.lanes.bring(lane, x))), std::nullopt);
  call.make(call.node.writer.reshape(call.lanes.state_of(lane, "sum", false), x.shape), steps);
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

// Zeros where rows are missing, which come so much later where zeros stand before them.
void fill_up(StepCall& call, Quantity x, std::size_t steps) {
  const auto [before, after, zeros] = x.margin;
  if (before + after > call.missing || call.turned)
    refuse("makes a sequence longer, by more than it was made shorter");
  x.margin = {};
  x.steps.reset();
  x = call.with(x, steps, 0);
  call.use.as_steps = call.use.anew = true;
  if (before > 0) x = call.around(x, steps, -before, x.shape[steps] - 1 - before);
  call.missing -= before + after;
  call.make(std::move(x), steps);
}

void pad(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const auto pads = call.node.integers_of("pads", 1).value_or(std::vector<std::int64_t>());
  const std::size_t rank = call.in(0).rank();
  if (pads.size() != 2 * rank) refuse("its pads are not those of " + to_string(call.in(0).shape));
  if (pads[steps] == 0 && pads[steps + rank] == 0) return call.one_step(steps);
  Quantity x = call.in(0);
  x.margin = {.before = pads[steps], .after = pads[steps + rank], .zeros = true};
  const bool zeros = call.node.text("mode", "constant") == "constant" &&
                     (call.node.has(2) ? call.node.number_in(2) : call.node.real("value", 0)) == 0;
  const auto others = std::count_if(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  const bool alone = others == (x.margin.before != 0 ? 1 : 0) + (x.margin.after != 0 ? 1 : 0);
  if (!zeros || !alone || std::min(x.margin.before, x.margin.after) < 0)
    refuse("makes the sequence longer or shorter, other than by zeros around it alone");
  if (call.missing > 0) return fill_up(call, x, steps);
  call.make(std::move(x), steps);
}

// Columns times rows, one of each a step: what each has, and then all of them.
void sum_of_products(StepCall& call) {
  const Quantity &a = call.in(0), &b = call.in(1);
  if (a.rank() - *call.steps(0) != 1 || b.rank() - *call.steps(1) != 2)
    refuse("multiplies steps of the sequence with each other, and not as attention does");
  if (call.rows(0) != call.rows(1)) refuse("puts steps of the sequence together with other steps");
  Quantity left = a, right = b;
  left.steps.reset();
  right.steps.reset();
  call.make(call.lanes.over_all(call.by_rule({left, right}).at(0), "segment_sum"), std::nullopt);
}

void matmul(StepCall& call) {
  const Quantity &a = call.in(0), &b = call.in(1);
  if (call.has_pairs()) return answer_pairs(call);
  if (a.rank() < 2 || b.rank() < 2) {
    const bool row = a.rank() == 2 && b.rank() == 1 && call.steps(0) == 0;
    if (!row) refuse(kMixes);
    return call.one_step(0);
  }
  const std::size_t rank = std::max(a.rank(), b.rank());
  if (call.steps(0) == a.rank() - 2 && call.steps(1) == b.rank() - 1) {
    if (call.missing > 0) refuse("attends to what was made shorter");
    return multiply_pairs(call);
  }
  std::optional<std::size_t> axis;  // of the result
  for (std::size_t i = 0; i < 2; ++i) {
    const auto steps = call.steps(i);
    if (!steps) continue;
    const std::size_t from_last = call.in(i).rank() - *steps;
    const std::size_t summed = i == 0 ? 1 : 2;
    if (from_last == summed && call.missing > 0) refuse("sums over what was made shorter");
    if (from_last == summed && call.steps(1 - i)) return sum_of_products(call);
    if (from_last == summed) refuse("sums over the steps of the sequence, which are not all there at once");
    const bool leading = from_last > 2;
    const Quantity& other = call.in(1 - i);
    if (call.steps(1 - i) && call.rows(0) != call.rows(1))
      refuse("puts steps of the sequence together with other steps");
    if (call.steps(1 - i) && !(leading && other.rank() - *call.steps(1 - i) == from_last))
      refuse("multiplies steps of the sequence with each other, and not as attention does");
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
    {"ReduceSum", reduce, true},
    {"ReduceMean", reduce, true},
    {"ReduceMax", reduce, true},
    {"ReduceMin", reduce, true},
    {"ReduceL1", reduce, true},
    {"ReduceL2", reduce, true},
    {"ReduceSumSquare", reduce, true},
    {"ReduceLogSum", reduce, true},
    {"ReduceLogSumExp", reduce, true},
    {"ArgMax", arg_extreme, true},
    {"ArgMin", arg_extreme, true},
    {"OneHot", one_hot, true},
    {"InstanceNormalization", instance_norm, true},
    {"CumSum", running_sum},
    {"Softmax", softmax, true, true},
    {"LogSoftmax", softmax, true, true},
    {"LayerNormalization", layer_norm, true},
    {"BatchNormalization", batch_norm, true},
    {"GlobalAveragePool", global_pool, true},
    {"GlobalMaxPool", global_pool, true},
    {"Pad", pad, true},
    {"MatMul", matmul, true, true},
    {"Gemm", gemm, true},
};

}  // namespace

extern const std::span<const StepRule> kAxesStepRules;
const std::span<const StepRule> kAxesStepRules = kRules;

}  // namespace volvox::onnx_import
