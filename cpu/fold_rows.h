#pragma once

#include <cstdint>

#include "base/error.h"
#include "cells/ir/fold.h"
#include "cpu/kernel/kernels.h"

namespace volvox::cpu {

// What FoldRows (cells/ir/fold.h) asks for, with the product's kernels on `threads` threads, the caller's
// among them. Takes about table.ids · 2 · table.width · (its operands) floating-point operations. Any thread.
Status fold_rows(const Kernels& kernels, std::uint32_t threads, const FoldedTable& table, float* out);

}  // namespace volvox::cpu
