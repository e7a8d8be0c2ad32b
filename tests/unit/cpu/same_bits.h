#pragma once

#include "cells/ir/evaluate.h"
#include "chain_fixture.h"
#include "tests/unit/device/cell_batch.h"

namespace volvox::cpu {

struct OurMath {
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float exp(float x) { return apply(&Kernels::exp, x); }
  static float log(float x) { return apply(&Kernels::log, x); }
  static float sigmoid(float x) { return apply(&Kernels::sigmoid, x); }
  static float tanh(float x) { return apply(&Kernels::tanh, x); }
  static float erf(float x) { return apply(&Kernels::erf, x); }
  template <class Weight>
  static float chain(float start, const Weight* w, const float* x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) start = std::fma(w[k], x[k], start);
    return start;
  }
  static float apply(void (*Kernels::*f)(const float*, float*, std::size_t), float x) {
    float y = 0;
    (portable_kernels()->*f)(&x, &y, 1);
    return y;
  }
};

inline void expect_same_bits(const Cell& cell, const Weights& weights) {
  for (std::uint32_t rows : {1U, 2U, 13U, 200U}) {
    CellBatch batch(cell, weights, rows);
    const auto want = batch.in_evaluator<float, OurMath>();
    for (Isa isa : supported_isas()) {
      for (std::uint32_t threads : {1U, 2U}) {
        for (const bool fuse : {true, false}) {
          const CpuOptions options{.isa = isa, .threads = threads, .measure = false, .fuse = fuse};
          const auto device = CpuDevice::make(options).value();
          ASSERT_EQ(batch.on_device(*device, {.max_batch = 512, .threads = threads}), want)
              << cell.name << ", " << rows << " rows, " << to_string(isa) << ", " << threads << " threads"
              << (fuse ? "" : ", not fused");
        }
      }
    }
  }
}

}  // namespace volvox::cpu
