#pragma once

#include <cstddef>

#include "cells/ir/cell.h"

namespace volvox {

// How many operands a product multiplies: its inputs but the value that it starts from.
inline std::size_t product_term_count(const Operator& product) {
  return product.weights.size() - (product.has_bias ? 1 : 0);
}

}  // namespace volvox
