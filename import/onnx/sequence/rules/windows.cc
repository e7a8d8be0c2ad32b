#include <algorithm>
#include <cstdint>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

constexpr std::int64_t kMaxReach = 1024;  // rows that a window spans: each request keeps them

// How far windows reach along the sequence: window t covers the rows t − before + i · gap, i < rows.
struct Reach {
  std::int64_t rows = 1, gap = 1, before = 0;
  std::int64_t beyond = 0;  // windows behind the one of the last step, if there are more than steps

  std::int64_t offset(std::int64_t i) const { return i * gap - before; }
  std::int64_t behind() const { return std::max<std::int64_t>(-offset(0), 0); }
  std::int64_t ahead() const { return std::max<std::int64_t>(offset(rows - 1), 0); }
};

// `at` of so many axes is the sequence's.
Reach reach_of(const StepCall& call, std::int64_t rows, std::size_t axes, std::size_t at) {
  const auto of = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    auto all = call.node.integers(name);
    if (all.empty()) all.assign(count, otherwise);
    if (all.size() != count) refuse("its " + std::string(name) + " are not those of its axes");
    for (const std::int64_t one : all)
      if (one < 0 || one > kMaxReach) refuse("its " + std::string(name) + " are too large, or less than 0");
    return all;
  };
  Reach reach{.rows = rows, .gap = of("dilations", axes, 1)[at]};
  if (of("strides", axes, 1)[at] != 1) refuse("leaves out steps of the sequence");
  if (rows < 1 || reach.gap < 1 || rows > kMaxReach || reach.gap * (rows - 1) >= kMaxReach)
    refuse("reaches over too many steps of the sequence");
  const std::int64_t span = reach.gap * (rows - 1);
  const std::string mode = call.node.text("auto_pad", "NOTSET");
  std::int64_t after = 0;
  if (mode == "NOTSET") {
    const auto pads = of("pads", 2 * axes, 0);
    reach.before = pads[at];
    after = pads[at + axes];
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    if (axes > 1) refuse("auto_pad " + mode + " along two axes");
    reach.before = mode == "SAME_UPPER" ? span / 2 : span - span / 2;
    after = span - reach.before;
  } else if (mode != "VALID") {
    refuse("auto_pad " + mode);
  }
  reach.before += call.in(0).margin.before;
  after += call.in(0).margin.after;
  reach.beyond = reach.before + after - span;
  if (reach.beyond < 0)
    refuse("makes the sequence shorter: pad it by " + std::to_string(-reach.beyond) + " steps more");
  if (reach.before > kMaxReach) refuse("its pads are too large");
  return reach;
}

// The rows of each window, in order.
std::vector<Quantity> rows_of(const StepCall& call, const Quantity& x, const Reach& reach) {
  CellWriter& w = call.node.writer;
  const std::int64_t size = elements(x.shape), behind = reach.behind(), ahead = reach.ahead();
  const bool turned = call.turned;
  Quantity before, after;
  if (behind > 0) before = call.lanes.rows_before(x, behind + 1, turned);
  if (ahead > 0) after = call.lanes.rows_before(x, ahead + 1, !turned);
  if (behind > 0) call.use.add_lane(turned);
  if (ahead > 0) call.use.add_lane(!turned);
  std::vector<Quantity> rows;
  for (std::int64_t i = 0; i < reach.rows; ++i) {
    const std::int64_t offset = reach.offset(i);
    Quantity row = x;
    if (offset <= 0 && behind > 0) {
      row = w.slice(before, 0, (behind + offset) * size, (behind + offset + 1) * size);
    } else if (ahead > 0) {
      row = w.slice(after, 0, (ahead - offset) * size, (ahead - offset + 1) * size);
    }
    rows.push_back(w.flat(row));
  }
  return rows;
}

// Of one axis: a product with the rows, one after another.
Quantity product(const StepCall& call, const std::vector<Quantity>& rows, const Constant& weight,
                 const KnownTensor& bias) {
  const auto kernels = weight.shape[0], channels = weight.shape[1], taps = weight.shape[2];
  std::vector<float> numbers;
  numbers.reserve(weight.reals.size());
  for (std::int64_t k = 0; k < kernels; ++k) {
    for (std::int64_t i = 0; i < taps; ++i) {
      for (std::int64_t c = 0; c < channels; ++c)
        numbers.push_back(weight.reals[static_cast<std::size_t>((k * channels + c) * taps + i)]);
    }
  }
  const KnownTensor turned = known_reals({kernels, taps * channels}, std::move(numbers)).known;
  CellWriter& w = call.node.writer;
  return w.reshape(w.product({{turned, w.concat(rows, 0)}}, bias), {1, kernels, 1});
}

// By the operator's own rule, over an input that has nothing but the window along the sequence.
Quantity by_itself(const StepCall& call, const std::vector<Quantity>& rows, std::size_t steps) {
  CellWriter& w = call.node.writer;
  std::vector<Quantity> shaped;
  for (const Quantity& row : rows) shaped.push_back(w.reshape(row, call.in(0).shape));
  Node plain = call.node.node;
  const std::size_t axes = call.in(0).rank() - 2, at = steps - 2;
  for (auto& [name, written] : plain.attributes) {
    if (written.integers.empty()) continue;
    if (name == "dilations") written.integers.at(at) = 1;
    if (name == "pads") written.integers.at(at) = written.integers.at(at + axes) = 0;
  }
  plain.attributes.erase("auto_pad");
  std::vector<std::optional<Quantity>> inputs{w.concat(shaped, steps)};
  for (std::size_t i = 1; i < call.node.inputs(); ++i)
    inputs.push_back(call.node.has(i) ? std::optional(call.in(i)) : std::nullopt);
  NodeCall one(w, plain, call.node.opset, std::move(inputs));
  find_rule(plain.op)->write(one);
  return one.outputs.at(0);
}

// Along a sequence each step has the window around it, beyond whose ends are zeros.
void convolution(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 0 && call.in(0).margin.none()) return call.one_step(steps);  // images of their own
  if (steps < 2) refuse("has the steps of the sequence as its channels");
  Quantity x = call.in(0);
  x.steps.reset();
  x.margin = {};
  const std::size_t axes = x.rank() - 2;
  const KnownTensor weight = as_real(call.node.known_in(1));
  if (axes > 2 || weight->shape.size() != x.rank() || weight->size() == 0)
    refuse("its kernels have the shape " + to_string(weight->shape));
  if (x.shape[0] != 1) refuse("has a batch of " + std::to_string(x.shape[0]));
  const Reach reach = reach_of(call, weight->shape[steps], axes, steps - 2);
  if (reach.rows > 1) call.use.as_steps = call.use.anew = true;
  const std::vector<Quantity> rows = rows_of(call, x, reach);
  const bool plain = axes == 1 && call.node.integer("group", 1) == 1 && weight->shape[1] == x.shape[1];
  const KnownTensor bias = call.node.has(2) ? as_real(call.node.known_in(2)) : nullptr;
  if (bias != nullptr && static_cast<std::int64_t>(bias->size()) != weight->shape[0])
    refuse("its bias has another size");
  Quantity made = plain ? product(call, rows, *weight, bias) : by_itself(call, rows, steps);
  made.margin.after = reach.beyond;
  call.make(std::move(made), steps);
}

// Images of their own, one a step.
void pool(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps != 0) refuse("goes over the steps of the sequence, which are not all there at once");
  call.one_step(steps);
}

constexpr StepRule kRules[] = {
    {"Conv", convolution},
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"ConvTranspose", pool},
};

}  // namespace

extern const std::span<const StepRule> kWindowsStepRules;
const std::span<const StepRule> kWindowsStepRules = kRules;

}  // namespace volvox::onnx_import
