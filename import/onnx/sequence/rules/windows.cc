#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

std::int64_t floor_of(std::int64_t number, std::int64_t parts) {
  return (number - (number % parts + parts) % parts) / parts;
}

// How far windows reach along the sequence: window t begins `before` rows ahead of row t · stride.
struct Reach {
  std::int64_t rows = 1, gap = 1, stride = 1, before = 0, after = 0;
  std::int64_t beyond = 0;  // windows behind those of the steps; below 0: those that the last steps lack

  std::int64_t span() const { return gap * (rows - 1); }
};

// `at` of so many axes is the sequence's.
Reach reach_of(const StepCall& call, std::int64_t rows, std::size_t axes, std::size_t at) {
  const auto of = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    return call.node.integers_for(name, count, otherwise, kMaxReach);
  };
  Reach reach{.rows = rows, .gap = of("dilations", axes, 1)[at], .stride = of("strides", axes, 1)[at]};
  if (rows < 1 || reach.gap < 1 || reach.stride < 1 || rows > kMaxReach || reach.span() >= kMaxReach)
    refuse("reaches over too many steps of the sequence");
  const std::string mode = call.node.text("auto_pad", "NOTSET");
  std::int64_t after = 0;
  if (mode == "NOTSET") {
    const auto pads = of("pads", 2 * axes, 0);
    reach.before = pads[at];
    after = pads[at + axes];
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    if (axes > 1) refuse("auto_pad " + mode + " along two axes");
    if (call.missing > 0 && reach.stride > 1) refuse("auto_pad " + mode + " of what was made shorter");
    const std::int64_t all = std::max<std::int64_t>(reach.span() + 1 - reach.stride, 0);
    reach.before = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
    after = all - reach.before;
  } else if (mode != "VALID") {
    refuse("auto_pad " + mode);
  }
  reach.before += call.in(0).margin.before;
  reach.after = after + call.in(0).margin.after;
  if (reach.before > kMaxReach || reach.after > kMaxReach) refuse("its pads are too large");
  // Less than a stride of rows to spare: as many windows as the steps have rows, over the stride.
  const std::int64_t spare = reach.before + reach.after - call.missing - reach.span() + reach.stride - 1;
  reach.beyond = floor_of(spare, reach.stride);
  if (reach.beyond < 0 && call.turned) refuse("makes a sequence shorter that is turned around");
  return reach;
}

// Of one axis, one row of each step: a product with those of the window, one after another.
Quantity product(const StepCall& call, const Quantity& window, const Reach& reach, const Constant& weight,
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
  CellWriter& w = call.node.writer;
  std::vector<Quantity> rows;
  for (std::int64_t i = 0; i < taps; ++i)
    rows.push_back(w.flat(w.slice(window, 2, i * reach.gap, i * reach.gap + 1)));
  const KnownTensor turned = known_reals({kernels, taps * channels}, std::move(numbers)).known;
  return w.reshape(w.product({{turned, w.concat(rows, 0)}}, bias), {1, kernels, 1});
}

// By the operator's own rule, over an input that has nothing but the windows along the sequence, with other
// values than its attributes' there.
struct Instead {
  std::string_view attribute{};
  std::size_t at = 0;
  std::int64_t value = 0;
};
Quantity by_itself(const StepCall& call, const Quantity& window, const std::vector<Instead>& instead) {
  Node plain = call.node.node;
  const std::size_t axes = window.rank() - 2;
  for (const auto& [attribute, at, value] : instead) {
    auto& written = plain.attributes[std::string(attribute)].integers;
    if (written.empty()) written.assign(attribute == "pads" ? 2 * axes : axes, 0);
    written.at(at) = value;
  }
  plain.attributes.erase("auto_pad");
  std::vector<std::optional<Quantity>> inputs{window};
  for (std::size_t i = 1; i < call.node.inputs(); ++i)
    inputs.push_back(call.node.has(i) ? std::optional(call.in(i)) : std::nullopt);
  return call.by_rule(plain, std::move(inputs)).at(0);
}

// Nothing is added along the axis.
std::vector<Instead> unpadded(std::size_t axes, std::size_t at) {
  return {{"pads", at, 0}, {"pads", at + axes, 0}};
}

// A step of the inputs must have as many rows as are left out, or more.
void want_rows_for(StepCall& call, const Reach& reach) {
  const std::int64_t rows = call.rows(0);
  if (rows % reach.stride == 0) return;
  call.use.more_rows = reach.stride / std::gcd(rows, reach.stride);
  refuse("leaves out " + std::to_string(reach.stride - 1) + " of " + std::to_string(reach.stride) +
         " rows of the sequence: more than a step may have");
}

// Along a sequence each step has the windows around it, beyond whose ends are zeros.
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
  if (weight->shape[steps] > 1) call.use.as_steps = call.use.anew = true;
  const Reach reach = reach_of(call, weight->shape[steps], axes, steps - 2);
  want_rows_for(call, reach);
  const std::int64_t last = (call.rows(0) / reach.stride - 1) * reach.stride + reach.span();
  // Pads are zeros where something else stands for what is missing.
  if (reach.after > 0) x = call.with(x, steps, 0);
  const Quantity window = call.around(x, steps, -reach.before, last - reach.before);
  const bool plain =
      axes == 1 && call.node.integer("group", 1) == 1 && weight->shape[1] == x.shape[1] && call.rows(0) == 1;
  const KnownTensor bias = call.node.has(2) ? as_real(call.node.known_in(2)) : nullptr;
  if (bias != nullptr && static_cast<std::int64_t>(bias->size()) != weight->shape[0])
    refuse("its bias has another size");
  Quantity made = plain ? product(call, window, reach, *weight, bias)
                        : by_itself(call, window, unpadded(axes, steps - 2));
  made.margin.after = std::max<std::int64_t>(reach.beyond, 0);
  call.missing = std::max<std::int64_t>(-reach.beyond, 0);
  call.make(std::move(made), steps);
}

// The largest, or the mean, of rows that lie beside each other and in one step: beyond its ends are no zeros.
void pool(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 0) return call.one_step(steps);  // images of their own
  if (steps == 1) refuse("has the steps of the sequence as its channels");
  Quantity x = call.in(0);
  x.steps.reset();
  const std::size_t axes = x.rank() - 2;
  const auto kernel = call.node.integers("kernel_shape");
  if (axes > 2 || kernel.size() != axes) refuse("its kernel has another number of axes than it");
  const Reach reach = reach_of(call, kernel[steps - 2], axes, steps - 2);
  const bool whole = reach.rows == reach.stride && reach.gap == 1 && reach.before == 0 && reach.after == 0;
  if (!whole) refuse("goes over rows that belong to several steps of the sequence, or to none");
  call.use.as_steps = call.use.anew = true;
  want_rows_for(call, reach);
  call.missing = -reach.beyond;
  call.make(by_itself(call, x, unpadded(axes, steps - 2)), steps);
}

// Along a sequence each step has so many times its rows, of those that reach it. Row o of the result has its
// sum from rows s of the input with 0 <= o + pad - s · stride <= span.
void transposed(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (steps == 0) return call.one_step(steps);  // images of their own
  if (steps == 1) refuse("has the steps of the sequence as its channels");
  call.use.as_steps = call.use.anew = true;
  Quantity x = call.in(0);
  x.steps.reset();
  const std::size_t axes = x.rank() - 2, at = steps - 2;
  if (call.node.text("auto_pad", "NOTSET") != "NOTSET")
    refuse("says how large its result is; say it by pads");
  const Shape& weight = call.node.known_in(1)->shape;
  if (axes > 2 || weight.size() != x.rank() || x.shape[0] != 1)
    refuse("its kernels have the shape " + to_string(weight));
  const auto of = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    return call.node.integers_for(name, count, otherwise, kMaxReach);
  };
  const std::int64_t stride = of("strides", axes, 1)[at], gap = of("dilations", axes, 1)[at],
                     more = of("output_padding", axes, 0)[at];
  const auto pads = of("pads", 2 * axes, 0);
  const std::int64_t before = pads[at], kernel = weight[steps], span = gap * (kernel - 1);
  if (stride < 1 || gap < 1 || kernel < 1 || kernel > kMaxReach || span >= kMaxReach)
    refuse("reaches over too many steps of the sequence");
  const std::int64_t beyond = span + 1 - stride - before - pads[at + axes] + more;
  if (beyond < 0) refuse("makes the sequence shorter by " + std::to_string(-beyond) + " rows");
  const std::int64_t made = call.rows(0) * stride, first = -floor_of(span - before, stride),
                     last = floor_of(made - 1 + before, stride);
  if (first > last) refuse("has rows that nothing reaches");
  const Quantity window = call.around(x, steps, first, last);
  const std::int64_t begin = before - first * stride,
                     left = (last - first) * stride + span + 1 - begin - made;
  Quantity all = by_itself(call, window,
                           {{"pads", at, begin},
                            {"pads", at + axes, std::max<std::int64_t>(left, 0)},
                            {"output_padding", at, std::max<std::int64_t>(-left, 0)}});
  all.margin.after = beyond;
  call.make(std::move(all), steps);
}

constexpr StepRule kRules[] = {
    {"Conv", convolution, true},
    {"MaxPool", pool, true},
    {"AveragePool", pool, true},
    {"ConvTranspose", transposed},
};

}  // namespace

extern const std::span<const StepRule> kWindowsStepRules;
const std::span<const StepRule> kWindowsStepRules = kRules;

}  // namespace volvox::onnx_import
