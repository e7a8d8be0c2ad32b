#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "protocol/tensor.h"

namespace volvox {

// Calls `visit` with a value of the C++ type behind `type`, bool for BOOL. Not for FP16 and BF16, which C++
// has no type for: nothing is called then.
template <class Visit>
void visit_element_type(WireType type, Visit visit) {
  switch (type) {
    case WireType::kF32:
      return visit(float{});
    case WireType::kF64:
      return visit(double{});
    case WireType::kI8:
      return visit(std::int8_t{});
    case WireType::kI16:
      return visit(std::int16_t{});
    case WireType::kI32:
      return visit(std::int32_t{});
    case WireType::kI64:
      return visit(std::int64_t{});
    case WireType::kU8:
      return visit(std::uint8_t{});
    case WireType::kU16:
      return visit(std::uint16_t{});
    case WireType::kU32:
      return visit(std::uint32_t{});
    case WireType::kU64:
      return visit(std::uint64_t{});
    case WireType::kBool:
      return visit(bool{});
    case WireType::kF16:
    case WireType::kBf16:
      return;
  }
}

// Whether a number as JSON has it (std::uint64_t, a negative std::int64_t, or double) is an element of type
// T.
template <class T, class Number>
bool fits_element(Number number) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(static_cast<double>(number)) <= static_cast<double>(Limits::max());
  } else if constexpr (std::is_floating_point_v<Number>) {
    return false;
  } else if constexpr (std::is_same_v<T, bool>) {
    return number == 0 || number == 1;
  } else if constexpr (std::is_signed_v<Number>) {
    return std::is_signed_v<T> && number >= static_cast<std::int64_t>(Limits::min());
  } else {
    return number <= static_cast<std::uint64_t>(Limits::max());
  }
}

// Appends the number as an element of `type`. False if it is none.
template <class Number>
bool append_element(WireType type, Number number, std::vector<std::byte>& bytes) {
  bool fits = false;
  visit_element_type(type, [&](auto zero) {
    using T = decltype(zero);
    fits = fits_element<T>(number);
    if (!fits) return;
    const T value = static_cast<T>(number);
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  });
  return fits;
}

}  // namespace volvox
