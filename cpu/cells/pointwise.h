#pragma once

#include <array>
#include <cstddef>

#include "cells/ir/cell.h"
#include "cpu/kernel/kernels.h"

namespace volvox::cpu {

// The kernel of a pointwise operator, for as many operands as it has. None: its definition runs it.
struct PointwiseKernel {
  using One = void (*)(const float* x, float* out, std::size_t n);
  using Two = void (*)(const float* a, const float* b, float* out, std::size_t n);
  using Three = void (*)(const float* a, const float* b, const float* c, float* out, std::size_t n);

  One one = nullptr;
  Two two = nullptr;
  Three three = nullptr;
};
PointwiseKernel pointwise_kernel(const Kernels& kernels, const OpDef& op);

// Whether the operator has a kernel, and operands of its result's size.
bool is_elementwise(const Cell& cell, const Operator& op);

// A pointwise operator over the rows of a chunk: of each row so many stretches of n floats, those of operand
// i pitch[i] apart.
struct PointwiseStep {
  PointwiseKernel kernel;
  std::array<const float* const*, 3> x{};
  std::array<std::size_t, 3> pitch{};
  float* out = nullptr;
  std::size_t stride = 0;  // floats from a row of the results to the next
  std::size_t stretches = 1, n = 0;

  void run(std::size_t row) const;
};

}  // namespace volvox::cpu
