#include "cpu/cells/pointwise.h"

#include <algorithm>
#include <iterator>

#include "cells/ops/ops.h"

namespace volvox::cpu {
namespace {

template <class Kernel>
struct Entry {
  const OpDef* op;
  Kernel Kernels::*kernel;
};
constexpr Entry<PointwiseKernel::One> kOnes[] = {{&kSigmoidOp, &Kernels::sigmoid},
                                                 {&kTanhOp, &Kernels::tanh},
                                                 {&kExpOp, &Kernels::exp},
                                                 {&kReluOp, &Kernels::relu},
                                                 {&kSqrtOp, &Kernels::sqrt}};
constexpr Entry<PointwiseKernel::Two> kTwos[] = {
    {&kAddOp, &Kernels::add}, {&kSubOp, &Kernels::sub}, {&kMulOp, &Kernels::mul}, {&kDivOp, &Kernels::div}};
constexpr Entry<PointwiseKernel::Three> kThrees[] = {{&kMulAddOp, &Kernels::mul_add}};

template <class Kernel, std::size_t N>
Kernel find(const Entry<Kernel> (&entries)[N], const Kernels& kernels, const OpDef& op) {
  const auto found = std::find_if(std::begin(entries), std::end(entries),
                                  [&](const auto& entry) { return entry.op == &op; });
  return found == std::end(entries) ? nullptr : kernels.*(found->kernel);
}

}  // namespace

PointwiseKernel pointwise_kernel(const Kernels& kernels, const OpDef& op) {
  return {find(kOnes, kernels, op), find(kTwos, kernels, op), find(kThrees, kernels, op)};
}

bool is_elementwise(const Cell& cell, const Operator& op) {
  const PointwiseKernel kernel = pointwise_kernel(*portable_kernels(), *op.def);
  const bool has_kernel = kernel.one != nullptr || kernel.two != nullptr || kernel.three != nullptr;
  return has_kernel && !cell.spreads(op);
}

void PointwiseStep::run(std::size_t row) const {
  for (std::size_t s = 0; s < stretches; ++s) {
    float* const to = out + row * stride + s * n;
    const auto from = [&](std::size_t i) { return x[i][row] + s * pitch[i]; };
    if (kernel.one != nullptr) kernel.one(from(0), to, n);
    if (kernel.two != nullptr) kernel.two(from(0), from(1), to, n);
    if (kernel.three != nullptr) kernel.three(from(0), from(1), from(2), to, n);
  }
}

}  // namespace volvox::cpu
