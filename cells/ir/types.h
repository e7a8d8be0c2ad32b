#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

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

// Bounds that let a row's description be a small flat struct on every device.
inline constexpr std::size_t kMaxGathers = 4;  // single predecessors of a cell
inline constexpr std::size_t kMaxPulls = 2;    // inputs that one cell reads
inline constexpr std::size_t kMaxPushes = 2;   // results that one cell emits
inline constexpr std::size_t kMaxInputs = 4;   // inputs of one request
inline constexpr std::size_t kMaxOutputs = 4;  // outputs of one request

// Rows of every plane that no request owns.
inline constexpr std::uint32_t kInitialSlot = 0;  // the initial value, read where a predecessor is missing
inline constexpr std::uint32_t kSinkSlot = 1;     // written by padding rows, never read
inline constexpr std::uint32_t kReservedSlots = 2;

}  // namespace volvox
