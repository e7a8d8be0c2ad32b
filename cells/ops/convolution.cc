#include <string>

#include "cells/ops/define.h"

namespace volvox {
namespace {

constexpr std::int64_t kMaxExtent = 65536;

struct Slide {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Convolution& c = op.convolution;
    const auto window = static_cast<std::size_t>(c.window());
    Real* out = row.real(op.output);
    std::vector<Real>& windowed = row.scratch();
    windowed.resize(window);
    for (std::int64_t position = 0; position < c.positions(); ++position) {
      copy_window(c, row.real(op.inputs[0]), position, windowed.data());
      for (std::int64_t k = 0; k < c.kernels; ++k) {
        const Real start = op.has_bias ? static_cast<Real>(row.weights()[1][k]) : Real{0};
        out[k * c.positions() + position] = row.math().chain(
            start, row.weights()[0] + static_cast<std::size_t>(k) * window, windowed.data(), window);
      }
    }
  }
};

Status infer(Inference& at) {
  const Convolution& c = at.op().convolution;
  if (Status status = at.arity(1, at.op().has_bias ? 2 : 1); !status) return status;
  if (Status status = at.want(0, DType::kF32, false); !status) return status;
  for (std::int64_t extent : {c.channels, c.height, c.width, c.kernels, c.kernel_height, c.kernel_width,
                              c.stride[0], c.stride[1], c.padding[0] + 1, c.padding[1] + 1}) {
    if (extent < 1 || extent > kMaxExtent) {
      return at.error("its extents and strides are 1 to " + std::to_string(kMaxExtent) +
                      ", its padding not negative");
    }
  }
  if (c.inputs() != elements(at.in(0).shape)) {
    return at.error("its input has " + std::to_string(elements(at.in(0).shape)) + " elements, needs " +
                    std::to_string(c.inputs()) + ": channels, height, width");
  }
  if (c.positions() < 1) return at.error("its kernel is larger than its input");
  if (Status status = at.weight(0, c.weight_shape()); !status) return status;
  if (at.op().has_bias) {
    if (Status status = at.weight(1, {c.kernels}); !status) return status;
  }
  return at.produce({DType::kF32, {c.outputs()}, false});
}

}  // namespace

constinit const OpDef kConvolutionOp = computed_op<Slide>("convolution", OpDef::kAny, OpDef::kAny, infer);

}  // namespace volvox
