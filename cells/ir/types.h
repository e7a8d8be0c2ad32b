#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cells/ir/bounds.h"

namespace volvox {

// Element types of tensors. The numbers are not stored anywhere.
enum class DType : std::uint8_t { kF32, kI32, kU64 };

constexpr std::size_t size_bytes(DType dtype) {
  return dtype == DType::kU64 ? 8 : 4;
}
std::string_view to_string(DType dtype);

// The shape of one row: the batch dimension is never written down.
using Shape = std::vector<std::int64_t>;

// Number of elements of one row; 1 for a scalar.
std::int64_t elements(const Shape& shape);
// "[4, 1024]"
std::string to_string(const Shape& shape);

// A cell type as the scheduler and the devices of one process know it: unique across models.
using CellTypeId = std::uint32_t;
// A set of planes that share slot numbers (all state that one kind of cell scatters together).
using PoolId = std::uint32_t;
using ModelId = std::uint32_t;

}  // namespace volvox
