#pragma once

#include <cstdint>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "tests/unit/cells/random_weights.h"

namespace volvox::gpu {

// Small enough that half precision keeps its digits.
inline RandomWeights random_weights() {
  return RandomWeights(0.3F);
}

// The largest difference, over the largest magnitude or one.
double distance(const std::vector<float>& got, const std::vector<double>& want);

// A cell of random operators, with h, c and a result of width `hidden`.
Cell random_cell(std::uint32_t seed, std::int64_t hidden, const Weights& weights);
// By how much the operand of an argmax is larger than the next one, at least, in double precision and over
// its magnitude or one; infinite without an argmax. Where it is small, rounding decides, and another index
// than the reference's is not wrong.
double least_margin(const Cell& cell, const Weights& weights, std::uint32_t rows);
// What it may use.
Weights random_cell_weights(std::int64_t hidden);

}  // namespace volvox::gpu
