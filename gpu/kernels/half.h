#pragma once

#include <cstdint>

#include "gpu/kernels/target.h"

namespace volvox::gpu {

// 16-bit floating point, rounded to nearest even, in plain integer arithmetic: the host packs weights with
// the same functions with which the device converts operands. And TF32, the tensor cores' float32.

VOLVOX_KERNEL_BODY std::uint16_t to_bfloat16(float x) {
  const auto bits = static_cast<std::uint32_t>(bits_of(x));
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
VOLVOX_KERNEL_BODY float from_bfloat16(std::uint16_t x) {
  return float_of(std::uint64_t{x} << 16);
}

VOLVOX_KERNEL_BODY std::uint16_t to_float16(float x) {
  const auto bits = static_cast<std::uint32_t>(bits_of(x));
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to infinity
  if (magnitude < 0x38800000U) {  // subnormal: the sum's own rounding shifts the bits into place
    const float shifted = float_of(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(bits_of(shifted)) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}
VOLVOX_KERNEL_BODY float from_float16(std::uint16_t x) {
  const std::uint32_t sign = (x & 0x8000U) << 16, magnitude = x & 0x7fffU;
  if (magnitude >= 0x7c00U) return float_of(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  const float scaled = float_of(std::uint64_t{magnitude} << 13) * 0x1p112F;  // exponents of 5 bits to 8
  return float_of(sign | bits_of(scaled));
}

// What a tensor core sees of a float32 operand: 10 bits of the fraction, rounded to nearest, ties away from
// zero, as the device's own conversion does (cvt.rna.tf32.f32).
VOLVOX_KERNEL_BODY float to_tf32(float x) {
  const auto bits = static_cast<std::uint32_t>(bits_of(x));
  if ((bits & 0x7f800000U) == 0x7f800000U) return x;  // infinities and NaN
  return float_of((bits + 0x1000U) & 0xffffe000U);
}

}  // namespace volvox::gpu
