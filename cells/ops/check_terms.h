#pragma once

#include <cstddef>
#include <string>

#include "cells/ir/bounds.h"
#include "cells/ir/inference.h"

namespace volvox {

// Of a product, or a linear: how many operands it may multiply.
inline Status check_terms(const Inference& at, std::size_t terms) {
  if (terms == 0) return at.error("needs at least one weight");
  if (terms <= kMaxTerms) return {};
  return at.error("multiplies " + std::to_string(terms) + " operands, may multiply " +
                  std::to_string(kMaxTerms) + "; join some, or add two products");
}

}  // namespace volvox
