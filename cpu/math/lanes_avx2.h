#pragma once

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "cpu/kernel/inline.h"
#include "cpu/math/coefficients.h"

namespace volvox::cpu {

// Eight floats in a YMM register.
struct Avx2Lanes {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kAccumulators = 12;

  static VOLVOX_INLINE __m256i first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static VOLVOX_INLINE Reg sign_bit() { return _mm256_set1_ps(-0.0F); }

  static VOLVOX_INLINE Reg set(float x) { return _mm256_set1_ps(x); }
  static VOLVOX_INLINE Reg load(const float* p) { return _mm256_loadu_ps(p); }
  // Masked stores of AMD's cores take ten times as long as whole ones.
  static VOLVOX_INLINE Reg load_first(const float* p, int n) {
    return n == kLanes ? load(p) : _mm256_maskload_ps(p, first(n));
  }
  static VOLVOX_INLINE void store(float* p, Reg a) { _mm256_storeu_ps(p, a); }
  static VOLVOX_INLINE void store_first(float* p, Reg a, int n) {
    if (n == kLanes) {
      store(p, a);
    } else {
      _mm256_maskstore_ps(p, first(n), a);
    }
  }
  static VOLVOX_INLINE Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static VOLVOX_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static VOLVOX_INLINE Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static VOLVOX_INLINE Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  static VOLVOX_INLINE Reg sqrt(Reg a) { return _mm256_sqrt_ps(a); }
  static VOLVOX_INLINE Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static VOLVOX_INLINE Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static VOLVOX_INLINE Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static VOLVOX_INLINE Reg negative_abs(Reg a) { return _mm256_or_ps(a, sign_bit()); }
  static VOLVOX_INLINE Reg copy_sign(Reg a, Reg s) {
    return _mm256_or_ps(_mm256_andnot_ps(sign_bit(), a), _mm256_and_ps(sign_bit(), s));
  }
  static VOLVOX_INLINE Reg select_negative(Reg x, Reg a, Reg b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
  }
  static VOLVOX_INLINE Reg split(Reg x, Reg& exponent) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i n = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(kTwoThirds)), 23);
    exponent = _mm256_cvtepi32_ps(n);
    return _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(n, 23)));
  }
  static VOLVOX_INLINE Reg scale(Reg t) {
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_set1_epi32(0x3f800000)));
  }
};

}  // namespace volvox::cpu

#endif
