#include <algorithm>
#include <array>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

// One axis of a transposed convolution.
struct Side {
  std::int64_t kernel = 1, stride = 1, gap = 1, before = 0, after = 0, more = 0;
};

std::vector<Side> sides_of(const NodeCall& call, const Shape& weight) {
  const std::size_t axes = weight.size() - 2;
  const auto of = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    return call.integers_for(name, count, otherwise, 1 << 16);
  };
  if (call.text("auto_pad", "NOTSET") != "NOTSET" || !call.integers("output_shape").empty())
    refuse("says how large its result is; say it by pads");
  const auto strides = of("strides", axes, 1), gaps = of("dilations", axes, 1),
             pads = of("pads", 2 * axes, 0), more = of("output_padding", axes, 0);
  std::vector<Side> sides;
  for (std::size_t i = 0; i < axes; ++i) {
    if (strides[i] < 1 || gaps[i] < 1) refuse("its windows have no extents");
    const std::int64_t span = gaps[i] * (weight[2 + i] - 1);
    sides.push_back({weight[2 + i], strides[i], gaps[i], span - pads[i], span - pads[i + axes], more[i]});
  }
  return sides;
}

// Zeros between the elements of an axis, and around them; or less than there was.
Quantity spread(CellWriter& w, Quantity x, std::size_t axis, const Side& side) {
  const auto resized = [&](std::size_t at, std::int64_t before, std::int64_t after) {
    const std::int64_t extent = x.shape[at];
    if (before + extent < 1 || after + extent < 1 || before + extent + after < 1)
      refuse("its result is empty");
    x = w.slice(x, at, std::max<std::int64_t>(-before, 0), extent + std::min<std::int64_t>(after, 0));
    before = std::max<std::int64_t>(before, 0);
    after = std::max<std::int64_t>(after, 0);
    if (before + after == 0) return;
    std::vector<std::int64_t> pads(2 * x.rank(), 0);
    pads[at] = before;
    pads[at + x.rank()] = after;
    Shape shape = x.shape;
    shape[at] += before + after;
    checked_elements(shape);
    x = w.apply("pad", {x}, {.integers = pads, .reals = {0}}, shape);
  };
  if (side.stride > 1) {
    Shape apart = x.shape, together = x.shape;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    x = w.reshape(x, apart);
    resized(axis + 1, 0, side.stride - 1);
    together[axis] *= side.stride;
    x = w.reshape(x, together);
  }
  resized(axis, side.before, side.after + side.more - (side.stride - 1));
  return x;
}

// Each kernel the other way round, by what it makes.
std::vector<float> turned(const Constant& weight, std::int64_t groups) {
  const std::int64_t channels = weight.shape[0] / groups, made = weight.shape[1];
  const std::int64_t size = elements({weight.shape.begin() + 2, weight.shape.end()});
  std::vector<float> numbers;
  numbers.reserve(weight.reals.size());
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t out = 0; out < made; ++out) {
      for (std::int64_t in = 0; in < channels; ++in) {
        const std::int64_t kernel = ((group * channels + in) * made + out) * size;
        for (std::int64_t i = size; i-- > 0;)
          numbers.push_back(weight.reals[static_cast<std::size_t>(kernel + i)]);
      }
    }
  }
  return numbers;
}

// A convolution over what was spread by its strides.
void conv_transpose(NodeCall& call) {
  const KnownTensor weight = as_real(call.known_in(1));
  Quantity x = call.in(0);
  const std::int64_t groups = call.integer("group", 1);
  if (x.rank() < 3 || x.rank() > 4 || weight->shape.size() != x.rank() || weight->size() == 0)
    refuse("goes over one or two axes, with kernels of as many");
  if (x.shape[0] != 1)
    refuse("has a batch of " + std::to_string(x.shape[0]) + "; give 1 for it with --shape");
  if (groups < 1 || weight->shape[0] != x.shape[1] || x.shape[1] % groups != 0)
    refuse("its kernels " + to_string(weight->shape) + " do not fit " + to_string(x.shape));
  const std::vector<Side> sides = sides_of(call, weight->shape);
  for (std::size_t i = 0; i < sides.size(); ++i) x = spread(call.writer, x, 2 + i, sides[i]);
  const Side one, &height = sides.size() == 2 ? sides[0] : one, &width = sides.back();
  Convolution c;
  c.channels = x.shape[1];
  c.kernels = groups * weight->shape[1];
  c.groups = groups;
  c.height = sides.size() == 2 ? x.shape[2] : 1;
  c.width = x.shape.back();
  c.kernel_height = height.kernel;
  c.kernel_width = width.kernel;
  c.dilation = {height.gap, width.gap};
  if (c.out_height() < 1 || c.out_width() < 1) refuse("its result is empty");
  const KnownTensor bias = call.has(2) ? as_real(call.known_in(2)) : nullptr;
  if (bias != nullptr && static_cast<std::int64_t>(bias->size()) != c.kernels)
    refuse("its bias has another size");
  Shape kernels = weight->shape, shape{1, c.kernels};
  kernels[0] = c.kernels;
  kernels[1] = c.channels / groups;
  if (sides.size() == 2) shape.push_back(c.out_height());
  shape.push_back(c.out_width());
  const KnownTensor numbers = known_reals(kernels, turned(*weight, groups)).known;
  call.outputs = {call.writer.reshape(call.writer.convolution(x, c, numbers, bias), shape)};
}

constexpr OpRule kRules[] = {
    {"ConvTranspose", conv_transpose, "over one or two axes, known kernels, batch 1"}};

}  // namespace

extern const std::span<const OpRule> kTransposedRules;
const std::span<const OpRule> kTransposedRules = kRules;

}  // namespace volvox::onnx_import
