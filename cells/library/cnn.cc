#include "cells/library/cnn.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/ir/convolution.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(cnn_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"cnn", "chain", true, build}};

// An extent of a weight, or `otherwise` where there is none that a convolution may have: infer() then says
// what is wrong with the weight.
std::int64_t extent_of(const Weights* weights, const std::string& weight, std::size_t axis,
                       std::int64_t otherwise) {
  constexpr std::int64_t kMost = 65536;
  const Tensor* tensor = weights == nullptr ? nullptr : weights->find(weight);
  if (tensor == nullptr || tensor->shape.size() <= axis) return otherwise;
  const std::int64_t extent = tensor->shape[axis];
  return extent < 1 || extent > kMost ? otherwise : extent;
}

// Square planes of elements, one for each channel.
struct Planes {
  ValueId x = kNoValue;
  std::int64_t channels = 0, side = 0;
};

// What the kernels in `weight` make of them, pooled.
Planes block(CellBuilder& b, const Planes& planes, const std::string& weight, std::int64_t kernels,
             std::string_view pooling) {
  Convolution windows{.channels = planes.channels,
                      .height = planes.side,
                      .width = planes.side,
                      .kernels = kernels,
                      .kernel_height = 3,
                      .kernel_width = 3,
                      .padding = {1, 1}};
  const ValueId made = b.apply("relu", {b.convolution(planes.x, weight, windows, weight + "_bias")});
  windows.channels = kernels;
  windows.stride = {2, 2};
  return {b.pool(pooling, made, windows), kernels, windows.out_height()};
}

}  // namespace

Result<Cell> cnn_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                      std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string first = prefix + "first", second = prefix + "second", weight = prefix + "weight",
                    bias = prefix + "bias", output = prefix + "output", output_bias = prefix + "output_bias";
  const std::int64_t channels = extent_of(weights, first, 1, 1), side = sizes.input;
  CellBuilder b{std::string(name)};
  const Planes image{b.pull("x", DType::kF32, {channels, side, side}), channels, side};
  const Planes edges = block(b, image, first, extent_of(weights, first, 0, 8), "max_pool");
  const Planes parts = block(b, edges, second, extent_of(weights, second, 0, 16), "average_pool");
  const ValueId h = b.apply("relu", {b.product({{weight, parts.x}}, {.bias = bias, .width = sizes.hidden})});
  b.push("scores", b.product({{output, h}}, {.bias = output_bias, .width = sizes.outputs}));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kCnnCells;
const std::span<const CellKind> kCnnCells = kKinds;

}  // namespace volvox
