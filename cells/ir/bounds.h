#pragma once

#include <cstddef>
#include <cstdint>

// Included by kernels that are compiled at load, too (gpu/program): nothing but numbers.
namespace volvox {

// Bounds that let a row's description be a small flat struct on every device.
inline constexpr std::size_t kMaxGathers = 4;  // single predecessors of a cell
inline constexpr std::size_t kMaxPulls = 2;    // inputs that one cell reads
inline constexpr std::size_t kMaxPushes = 2;   // results that one cell emits
inline constexpr std::size_t kMaxInputs = 4;   // inputs of one request
inline constexpr std::size_t kMaxOutputs = 4;  // outputs of one request
inline constexpr std::size_t kMaxTerms = 4;    // operands that one product multiplies

// Rows of every plane that no request owns.
inline constexpr std::uint32_t kInitialSlot = 0;  // the initial value, read where a predecessor is missing
inline constexpr std::uint32_t kSinkSlot = 1;     // written by padding rows, never read
inline constexpr std::uint32_t kReservedSlots = 2;

}  // namespace volvox
