#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpu/kernel/inline.h"
#include "cpu/math/coefficients.h"

namespace volvox::cpu {

// Eight floats in plain C++; std::fma is exact with or without such an instruction.
struct PortableLanes {
  static constexpr int kLanes = 8;
  static constexpr int kAccumulators = 8;
  struct Reg {
    float v[kLanes];
  };

  template <class F>
  static VOLVOX_INLINE Reg each(F f) {
    Reg out;
    for (int i = 0; i < kLanes; ++i) out.v[i] = f(i);
    return out;
  }
  static VOLVOX_INLINE std::uint32_t bits(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, sizeof u);
    return u;
  }
  static VOLVOX_INLINE float from_bits(std::uint32_t u) {
    float x;
    std::memcpy(&x, &u, sizeof x);
    return x;
  }

  static VOLVOX_INLINE Reg set(float x) {
    return each([=](int) { return x; });
  }
  static VOLVOX_INLINE Reg load(const float* p) {
    return each([=](int i) { return p[i]; });
  }
  static VOLVOX_INLINE Reg load_first(const float* p, int n) {
    return each([=](int i) { return i < n ? p[i] : 0.0F; });
  }
  static VOLVOX_INLINE void store(float* p, Reg a) {
    for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
  }
  static VOLVOX_INLINE void store_first(float* p, Reg a, int n) {
    for (int i = 0; i < n && i < kLanes; ++i) p[i] = a.v[i];
  }
  static VOLVOX_INLINE Reg add(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  static VOLVOX_INLINE Reg sub(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] - b.v[i]; });
  }
  static VOLVOX_INLINE Reg mul(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  static VOLVOX_INLINE Reg div(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] / b.v[i]; });
  }
  static VOLVOX_INLINE Reg sqrt(Reg a) {
    return each([&](int i) { return std::sqrt(a.v[i]); });
  }
  static VOLVOX_INLINE Reg fma(Reg a, Reg b, Reg c) {
    return each([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  static VOLVOX_INLINE Reg min(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static VOLVOX_INLINE Reg max(Reg a, Reg b) {
    return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static VOLVOX_INLINE Reg negative_abs(Reg a) {
    return each([&](int i) { return from_bits(bits(a.v[i]) | 0x80000000U); });
  }
  static VOLVOX_INLINE Reg copy_sign(Reg a, Reg s) {
    return each(
        [&](int i) { return from_bits((bits(a.v[i]) & 0x7fffffffU) | (bits(s.v[i]) & 0x80000000U)); });
  }
  static VOLVOX_INLINE Reg select_negative(Reg x, Reg a, Reg b) {
    return each([&](int i) { return x.v[i] < 0.0F ? a.v[i] : b.v[i]; });
  }
  static VOLVOX_INLINE Reg split(Reg x, Reg& exponent) {
    const auto n = [&](int i) {
      return static_cast<std::int32_t>(bits(x.v[i]) - static_cast<std::uint32_t>(kTwoThirds)) >> 23;
    };
    exponent = each([&](int i) { return static_cast<float>(n(i)); });
    return each([&](int i) { return from_bits(bits(x.v[i]) - (static_cast<std::uint32_t>(n(i)) << 23)); });
  }
  static VOLVOX_INLINE Reg scale(Reg t) {
    return each([&](int i) { return from_bits((bits(t.v[i]) << 23) + 0x3f800000U); });
  }
};

}  // namespace volvox::cpu
