#include <algorithm>
#include <array>

#include "cells/ir/inference.h"
#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

KnownTensor turned(CellWriter& w, const KnownTensor& matrix) {
  return w.transpose(known(as_real(matrix)), {1, 0}).known;
}

// x · Bᵀ for each of the rows of x [rows, inner]: of one row a product, of several a convolution whose
// kernels are the rows of `weight` [columns, inner].
Quantity rows_times(CellWriter& w, const Quantity& x, std::int64_t rows, const KnownTensor& weight,
                    const KnownTensor& bias) {
  const std::int64_t columns = weight->shape[0], inner = weight->shape[1];
  if (rows == 1) return w.product({{weight, w.flat(x)}}, bias);
  const Convolution c{.height = rows, .width = inner, .kernels = columns, .kernel_width = inner};
  return w.transpose(w.reshape(w.convolution(x, c, weight, bias), {columns, rows}), {1, 0});
}

void matmul(NodeCall& call) {
  const Quantity &a = call.in(0), &b = call.in(1);
  CellWriter& w = call.writer;
  if (b.is_known() && b.rank() == 2 && a.rank() >= 1 && a.shape.back() == b.shape[0] && !a.is_known() &&
      b.known->size() > 0) {
    Shape shape = a.shape;
    shape.back() = b.shape[1];
    const std::int64_t rows = elements(a.shape) / b.shape[0];
    call.outputs = {w.reshape(rows_times(w, a, rows, turned(w, b.known), nullptr), shape)};
    return;
  }
  const Quantity left = a.rank() == 1 ? w.reshape(a, {1, a.shape[0]}) : a;
  const Quantity right = b.rank() == 1 ? w.reshape(b, {b.shape[0], 1}) : b;
  if (left.rank() < 2 || right.rank() < 2 || left.shape.back() != right.shape[right.rank() - 2])
    refuse("the shapes " + to_string(a.shape) + " and " + to_string(b.shape) + " do not fit");
  Shape before_left(left.shape.begin(), left.shape.end() - 2),
      before_right(right.shape.begin(), right.shape.end() - 2);
  Shape shape;
  if (!spread_shape(before_left, before_right, shape)) refuse("the leading axes do not fit");
  shape.insert(shape.end(), {left.shape[left.rank() - 2], right.shape.back()});
  const Quantity made = w.apply("matmul", {left, right}, {}, shape);
  if (b.rank() == 1) shape.pop_back();
  if (a.rank() == 1) shape.erase(shape.end() - (b.rank() == 1 ? 1 : 2));
  call.outputs = {w.reshape(made, shape)};
}

void gemm(NodeCall& call) {
  CellWriter& w = call.writer;
  const auto matrix = [&](std::size_t i, std::string_view turn) {
    if (call.in(i).rank() != 2) refuse("multiplies what is no matrix");
    return call.integer(turn, 0) != 0 ? w.transpose(call.in(i), {1, 0}) : call.in(i);
  };
  const Quantity a = matrix(0, "transA"), b = matrix(1, "transB");
  if (a.shape[1] != b.shape[0])
    refuse("the shapes " + to_string(a.shape) + " and " + to_string(b.shape) + " do not fit");
  const float alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const Shape shape{a.shape[0], b.shape[1]};
  Quantity made;
  if (b.is_known() && !a.is_known()) {
    made = w.reshape(rows_times(w, a, a.shape[0], turned(w, b.known), nullptr), shape);
  } else {
    made = w.apply("matmul", {a, b}, {}, shape);
  }
  if (alpha != 1) made = w.mul(made, known_reals({}, {alpha}));
  if (call.has(2)) made = w.add(made, beta == 1 ? call.in(2) : w.mul(call.in(2), known_reals({}, {beta})));
  call.outputs = {made};
}

// Windows as a node has them, over x [1, channels, (height,) width]. Padding that is not the same on both
// sides is done before.
struct Windows {
  Quantity x{};
  Convolution c{};
  Shape shape{};  // of the result, without channels
};

std::array<std::int64_t, 2> pair_of(std::vector<std::int64_t> written, std::int64_t otherwise,
                                    std::size_t axes) {
  if (written.empty()) written.assign(axes, otherwise);
  if (written.size() != axes) refuse("its windows have another number of axes than it");
  return axes == 1 ? std::array{otherwise, written[0]} : std::array{written[0], written[1]};
}

std::vector<std::int64_t> padding_of(const NodeCall& call, const Convolution& c, std::size_t axes) {
  const std::string mode = call.text("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    auto pads = call.integers("pads");
    if (pads.empty()) pads.assign(2 * axes, 0);
    if (pads.size() != 2 * axes) refuse("its pads are not those of its axes");
    return pads;
  }
  if (mode == "VALID") return std::vector<std::int64_t>(2 * axes, 0);
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") refuse("auto_pad " + mode);
  std::vector<std::int64_t> pads(2 * axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const bool height = axes == 2 && i == 0;
    const std::int64_t extent = height ? c.height : c.width,
                       kernel = height ? c.kernel_height : c.kernel_width;
    const std::int64_t stride = c.stride[height ? 0 : 1], gap = c.dilation[height ? 0 : 1];
    const std::int64_t steps = (extent + stride - 1) / stride;
    const std::int64_t all =
        std::max<std::int64_t>((steps - 1) * stride + gap * (kernel - 1) + 1 - extent, 0);
    pads[i] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
    pads[i + axes] = all - pads[i];
  }
  return pads;
}

Windows windows_of(NodeCall& call, const Shape& kernel, float outside) {
  const Quantity& x = call.in(0);
  const std::size_t axes = x.rank() < 2 ? 0 : x.rank() - 2;
  if (axes < 1 || axes > 2) refuse("goes over " + std::to_string(axes) + " axes, over one or two it may");
  if (x.shape[0] != 1)
    refuse("has a batch of " + std::to_string(x.shape[0]) + "; give 1 for it with --shape");
  Windows made{.x = x};
  Convolution& c = made.c;
  c.channels = x.shape[1];
  c.height = axes == 2 ? x.shape[2] : 1;
  c.width = x.shape.back();
  if (kernel.size() != axes) refuse("its kernel has another number of axes than it");
  c.kernel_height = axes == 2 ? kernel[0] : 1;
  c.kernel_width = kernel.back();
  c.stride = pair_of(call.integers("strides"), 1, axes);
  c.dilation = pair_of(call.integers("dilations"), 1, axes);
  for (const std::int64_t extent :
       {c.kernel_height, c.kernel_width, c.stride[0], c.stride[1], c.dilation[0], c.dilation[1]}) {
    if (extent < 1 || extent > kMaxConstantElements) refuse("its windows have no extents");
  }
  const auto pads = padding_of(call, c, axes);
  bool even = true;
  for (std::size_t i = 0; i < axes; ++i) {
    if (std::min(pads[i], pads[i + axes]) < 0 || std::max(pads[i], pads[i + axes]) > kMaxConstantElements)
      refuse("its pads are too large, or cut something off");
    even = even && pads[i] == pads[i + axes];
  }
  if (even) {
    c.padding = axes == 2 ? std::array{pads[0], pads[1]} : std::array{std::int64_t{0}, pads[0]};
  } else {
    std::vector<std::int64_t> all(2 * x.rank(), 0);
    Shape shape = x.shape;
    for (std::size_t i = 0; i < axes; ++i) {
      all[2 + i] = pads[i];
      all[2 + i + x.rank()] = pads[i + axes];
      shape[2 + i] += pads[i] + pads[i + axes];
    }
    made.x = call.writer.apply("pad", {x}, {.integers = all, .reals = {outside}}, shape);
    c.height = axes == 2 ? shape[2] : 1;
    c.width = shape.back();
  }
  if (c.out_height() < 1 || c.out_width() < 1) refuse("its kernel is larger than its input");
  if (axes == 2) made.shape.push_back(c.out_height());
  made.shape.push_back(c.out_width());
  return made;
}

Shape of_channels(std::int64_t channels, const Windows& windows) {
  Shape shape{1, channels};
  shape.insert(shape.end(), windows.shape.begin(), windows.shape.end());
  return shape;
}

void convolution(NodeCall& call) {
  const KnownTensor weight = as_real(call.known_in(1));
  if (weight->shape.size() < 3 || weight->size() == 0)
    refuse("its kernels have the shape " + to_string(weight->shape));
  Windows windows = windows_of(call, {weight->shape.begin() + 2, weight->shape.end()}, 0);
  Convolution& c = windows.c;
  c.kernels = weight->shape[0];
  c.groups = call.integer("group", 1);
  if (c.groups < 1 || c.channels % c.groups != 0 || c.kernels % c.groups != 0 ||
      weight->shape[1] != c.channels / c.groups)
    refuse("its kernels " + to_string(weight->shape) + " do not fit " + to_string(call.in(0).shape));
  const KnownTensor bias = call.has(2) ? as_real(call.known_in(2)) : nullptr;
  if (bias != nullptr && static_cast<std::int64_t>(bias->size()) != c.kernels)
    refuse("its bias has another size");
  call.outputs = {call.writer.reshape(call.writer.convolution(windows.x, c, weight, bias),
                                      of_channels(c.kernels, windows))};
}

void pool(NodeCall& call, std::string_view op, float outside) {
  if (call.integer("ceil_mode", 0) != 0) refuse("rounds up the number of its windows");
  Windows windows = windows_of(call, call.integers("kernel_shape"), outside);
  Convolution& c = windows.c;
  c.kernels = c.groups = c.channels;
  call.outputs = {call.writer.reshape(call.writer.pool(op, windows.x, c), of_channels(c.channels, windows))};
}

void max_pool(NodeCall& call) {
  if (call.node.outputs.size() > 1) refuse("also says where the largest are");
  pool(call, "max_pool", -3.4028234e38F);
}

void average_pool(NodeCall& call) {
  const auto pads = call.integers("pads");
  const bool padded = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  const std::string mode = call.text("auto_pad", "NOTSET");
  if ((padded && call.integer("count_include_pad", 0) != 0) || mode.starts_with("SAME"))
    refuse("its pads count as elements");
  if (padded && pads.size() % 2 == 0 &&
      !std::equal(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2),
                  pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2)))
    refuse("its pads are not the same on both sides");
  pool(call, "average_pool", 0);
}

void global_pool(NodeCall& call) {
  const Quantity& x = call.in(0);
  Attributes axes;
  Shape shape = x.shape;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) {
    axes.integers.push_back(static_cast<std::int64_t>(axis));
    shape[axis] = 1;
  }
  const std::string_view op = call.node.op == "GlobalMaxPool" ? "reduce_max" : "reduce_mean";
  call.outputs = {shape == x.shape ? x : call.writer.apply(op, {x}, std::move(axes), shape)};
}

constexpr OpRule kRules[] = {
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Conv", convolution, "over one or two axes, known kernels, batch 1"},
    {"MaxPool", max_pool, "over one or two axes, floor mode"},
    {"AveragePool", average_pool, "over one or two axes, floor mode, pads not counted"},
    {"GlobalAveragePool", global_pool},
    {"GlobalMaxPool", global_pool},
};

}  // namespace

extern const std::span<const OpRule> kProductsRules;
const std::span<const OpRule> kProductsRules = kRules;

}  // namespace volvox::onnx_import
