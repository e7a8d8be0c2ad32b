#pragma once

#include <cstddef>

#include "cells/ir/cell.h"

namespace volvox {

// How many operands a product, or a linear, multiplies: its inputs but the value that it starts from. At most
// kMaxTerms.
inline std::size_t product_term_count(const Operator& product) {
  return product.weights.size() - (product.has_bias && !product.weights.empty() ? 1 : 0);
}

}  // namespace volvox
