#pragma once

#if defined(__AVX512F__)

#include <immintrin.h>

#include "cpu/kernel/inline.h"
#include "cpu/math/coefficients.h"

namespace volvox::cpu {

// Sixteen floats in a ZMM register; needs AVX-512 F only.
struct Avx512Lanes {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kAccumulators = 27;

  static VOLVOX_INLINE __mmask16 first(int n) { return static_cast<__mmask16>((1U << n) - 1U); }
  static VOLVOX_INLINE __m512i sign_bit() { return _mm512_set1_epi32(static_cast<int>(0x80000000U)); }

  static VOLVOX_INLINE Reg set(float x) { return _mm512_set1_ps(x); }
  static VOLVOX_INLINE Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static VOLVOX_INLINE Reg load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static VOLVOX_INLINE void store(float* p, Reg a) { _mm512_storeu_ps(p, a); }
  static VOLVOX_INLINE void store_first(float* p, Reg a, int n) { _mm512_mask_storeu_ps(p, first(n), a); }
  static VOLVOX_INLINE Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static VOLVOX_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static VOLVOX_INLINE Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static VOLVOX_INLINE Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  static VOLVOX_INLINE Reg sqrt(Reg a) { return _mm512_sqrt_ps(a); }
  static VOLVOX_INLINE Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static VOLVOX_INLINE Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static VOLVOX_INLINE Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static VOLVOX_INLINE Reg negative_abs(Reg a) {
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(a), sign_bit()));
  }
  static VOLVOX_INLINE Reg copy_sign(Reg a, Reg s) {
    // Bit by bit: sign_bit ? s : a.
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(sign_bit(), _mm512_castps_si512(s), _mm512_castps_si512(a), 0xca));
  }
  static VOLVOX_INLINE Reg select_negative(Reg x, Reg a, Reg b) {
    return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), a);
  }
  static VOLVOX_INLINE Reg split(Reg x, Reg& exponent) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i n = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(kTwoThirds)), 23);
    exponent = _mm512_cvtepi32_ps(n);
    return _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(n, 23)));
  }
  static VOLVOX_INLINE Reg scale(Reg t) {
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(n, _mm512_set1_epi32(0x3f800000)));
  }
};

}  // namespace volvox::cpu

#endif
