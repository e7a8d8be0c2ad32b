#pragma once

#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/mirror.h"
#include "cells/ir/weights.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

// Packs the weights of a product operator, for kernels of so many lanes. Errors name the cell and the tensor.
Result<PackedProduct> pack_product(const Cell& cell, const Operator& op, const Weights& weights, Gates gates,
                                   std::size_t lanes);

// The kernels of a convolution, each as the product of a window with it.
struct PackedConvolution {
  Mirror mirror{};
  // By group. With a mirror: of the even kernels, and of the odd ones, of those that there are and are
  // multiplied.
  std::vector<PackedProduct> products{};
};
Result<PackedConvolution> pack_convolution(const Cell& cell, const Operator& op, const Weights& weights,
                                           std::size_t lanes);

}  // namespace volvox::cpu
