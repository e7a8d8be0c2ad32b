#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "cells/ir/cell_builder.h"
#include "cells/ops/ops.h"
#include "tests/unit/cells/random_weights.h"

namespace volvox {

// A cell with states as wide as the convolution's input, that slides two kernels over them, one with a bias.
struct ConvolutionCell {
  Weights weights;
  Cell cell;
};

inline ConvolutionCell convolution_cell(
    const Convolution& c, RandomWeights random,
    const std::function<void(std::vector<float>&)>& change_kernels = nullptr) {
  const std::int64_t hidden = c.inputs();
  random.add("kernels", c.weight_shape())
      .add("bias", {c.kernels})
      .add("w", {hidden, c.outputs()})
      .add("table", {kVocabulary, hidden});
  if (change_kernels) change_kernels(random.values("kernels"));
  ConvolutionCell made{random.weights(), {}};
  CellBuilder b("convolution");
  b.state({"h", {hidden}}).state({"c", {hidden}});
  const auto [h0, c0] = b.gather(0, {"h", "c"});
  const ValueId biased = b.convolution(b.add(h0, c0), "kernels", c, "bias");
  const ValueId plain = b.convolution(h0, "kernels", c);
  const ValueId out = b.product({{"w", b.add(b.tanh(biased), plain)}}, {});
  b.scatter("h", out);
  b.scatter("c", b.embed(b.pull("token", DType::kI32), "table", hidden));
  b.push("out", out);
  made.cell = b.build(&made.weights).value();
  return made;
}

// The first convolution of a cell, as it was inferred.
inline const Convolution& slid(const Cell& cell) {
  const auto is_it = [](const Operator& op) { return op.is(kConvolutionOp); };
  return std::ranges::find_if(cell.operators, is_it)->convolution;
}

// Makes each tap of kernels of `width` the image of the one as far on the other side of axis / 2: equal in
// the first `even`, opposite in the others. The middle, and taps without an image, stay as they are.
inline void mirror_kernels(std::vector<float>& kernels, std::size_t width, std::size_t axis,
                           std::size_t even) {
  for (std::size_t at = 0; at < kernels.size(); at += width) {
    for (std::size_t tap = axis / 2 + 1; tap < width && tap <= axis; ++tap) {
      const float image = kernels[at + axis - tap];
      kernels[at + tap] = at / width < even ? image : -image;
    }
  }
}

// Makes the last of the first `even` kernels the twins of the first of them, and those of the others: with
// the weights of every second tap turned to their opposites. One in the middle has zeros in their place.
inline void twin_kernels(std::vector<float>& kernels, std::size_t width, std::size_t even) {
  const std::size_t all = kernels.size() / width;
  for (std::size_t kernel = 0; kernel < all; ++kernel) {
    const std::size_t twin = kernel < even ? even - 1 - kernel : even + all - 1 - kernel;
    const std::size_t same = kernel < even ? 0 : 1;
    for (std::size_t tap = 0; tap < width && twin >= kernel; ++tap) {
      float& weight = kernels[kernel * width + tap];
      if (twin == kernel && tap % 2 != same) weight = 0;
      kernels[twin * width + tap] = tap % 2 == same ? weight : -weight;
    }
  }
}

// In two dimensions, with strides and padding.
inline constexpr Convolution kPlanes{.channels = 2,
                                     .height = 3,
                                     .width = 4,
                                     .kernels = 5,
                                     .kernel_height = 2,
                                     .kernel_width = 3,
                                     .stride = {2, 1},
                                     .padding = {1, 1}};
// In one dimension.
constexpr Convolution line_of(std::int64_t width) {
  return {.width = width, .kernels = 3, .kernel_width = 4, .stride = {1, 2}, .padding = {0, 1}};
}

}  // namespace volvox
