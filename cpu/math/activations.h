#pragma once

#include <cstddef>

#include "cpu/kernel/inline.h"
#include "cpu/math/coefficients.h"

namespace volvox::cpu {

// exp, log, sigmoid, tanh and erf as ONE sequence of IEEE operations, written over a type V of "lanes" (1, 8
// or 16 floats; lanes_*.h), so that every path gives the same bits. V offers: Reg, set, add, sub, mul, div,
// fma, min(a, b) = a < b ? a : b, max(a, b) = a > b ? a : b, scale(t) = 2^n for a t that holds n in its low
// bits, negative_abs, copy_sign, select_negative(x, a, b) = x < 0 ? a : b, and split(x, e) = m for a normal
// x = m·2^e with m in [2/3, 4/3).
// min and max return their second argument when one is NaN: x stands second, so that NaN stays NaN.
//
// Largest errors against double precision, over every third float (tests/unit/cpu/math_test.cc checks a
// sweep):
//   exp      0.92 ulp; denormal results are rounded once; > 88.73 gives inf, < -103.98 gives 0
//   sigmoid  2.41 ulp where the result is normal; below x = -87.3 it is off by less than 2^-126
//   log      0.94 ulp; log(0) = -inf, NaN below
//   erf      1.00 ulp where the result is normal; odd
//   tanh     2.50 ulp; tanh(-x) = -tanh(x), tanh of a denormal is itself, |tanh| <= 1
// NaN gives NaN. No operation raises a trap or depends on state other than round-to-nearest.

// x = n·ln 2 + r. `t` holds n in its low bits.
template <class V>
struct Reduced {
  typename V::Reg t, r;
};

template <class V>
VOLVOX_INLINE Reduced<V> reduce(typename V::Reg x) {
  const auto t = V::fma(x, V::set(kLog2E), V::set(kRoundMagic));
  const auto n = V::sub(t, V::set(kRoundMagic));
  const auto r = V::fma(n, V::set(-kLn2High), x);
  return {t, V::fma(n, V::set(-kLn2Low), r)};
}

template <class V>
VOLVOX_INLINE typename V::Reg exp_q(typename V::Reg r) {
  auto q = V::fma(V::set(kExpQ4), r, V::set(kExpQ3));
  q = V::fma(q, r, V::set(kExpQ2));
  q = V::fma(q, r, V::set(kExpQ1));
  return V::fma(q, r, V::set(kExpQ0));
}

// exp(r) for a reduced r.
template <class V>
VOLVOX_INLINE typename V::Reg exp_reduced(typename V::Reg r) {
  const auto one = V::set(1.0F);
  return V::fma(V::fma(exp_q<V>(r), r, one), r, one);
}

template <class V>
VOLVOX_INLINE typename V::Reg exp(typename V::Reg x) {
  const auto magic = V::set(kRoundMagic);
  const auto [t, r] = reduce<V>(V::max(V::set(kExpMin), V::min(V::set(kExpMax), x)));
  // Two scalings, because 2^n alone may not be representable where the result is.
  const auto t1 = V::fma(V::sub(t, magic), V::set(0.5F), magic);
  const auto t2 = V::add(V::sub(V::sub(t, magic), V::sub(t1, magic)), magic);
  return V::mul(V::mul(exp_reduced<V>(r), V::scale(t1)), V::scale(t2));
}

// 1 / (1 + exp(-x)), through e = exp(-|x|) <= 1: 1 / (1 + e) or e / (1 + e).
template <class V>
VOLVOX_INLINE typename V::Reg sigmoid(typename V::Reg x) {
  const auto [t, r] = reduce<V>(V::max(V::set(kSigmoidMin), V::negative_abs(x)));
  const auto e = V::mul(exp_reduced<V>(r), V::scale(t));
  const auto one = V::set(1.0F);
  return V::div(V::select_negative(x, e, one), V::add(one, e));
}

// Through e = exp(-2|x|) - 1 in (-1, 0]: |tanh x| = -e / (2 + e), without cancellation for small x.
template <class V>
VOLVOX_INLINE typename V::Reg tanh(typename V::Reg x) {
  const auto y = V::negative_abs(x);
  const auto [t, r] = reduce<V>(V::max(V::set(kTanhMin), V::add(y, y)));
  const auto p = V::fma(V::mul(r, r), exp_q<V>(r), r);
  const auto s = V::scale(t);
  const auto e = V::fma(p, s, V::sub(s, V::set(1.0F)));
  return V::copy_sign(V::div(e, V::add(V::set(2.0F), e)), x);
}

// c[0] + c[1]·x + …
template <class V, std::size_t N>
VOLVOX_INLINE typename V::Reg polynomial(const float (&c)[N], typename V::Reg x) {
  auto sum = V::set(c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) sum = V::fma(sum, x, V::set(c[k]));
  return sum;
}

template <class V>
VOLVOX_INLINE typename V::Reg log(typename V::Reg x) {
  constexpr float kInfinity = __builtin_huge_valf();
  const auto zero = V::set(0.0F);
  // A denormal becomes a normal number, 2^23 times as large.
  const auto below = V::sub(x, V::set(kSmallestNormal));
  const auto normal = V::select_negative(below, V::mul(x, V::set(0x1p23F)), x);
  auto e = zero;
  const auto f = V::sub(V::split(normal, e), V::set(1.0F));
  e = V::add(e, V::select_negative(below, V::set(-23.0F), zero));
  auto y = V::fma(V::mul(f, f), polynomial<V>(kLogP, f), f);
  y = V::fma(e, V::set(kLn2), y);
  // What is no positive number: x − x is a NaN for infinity and NaN, else nothing.
  y = V::select_negative(V::negative_abs(x), y, V::set(-kInfinity));
  y = V::select_negative(x, V::set(__builtin_nanf("")), y);
  return V::select_negative(V::sub(V::set(kLargest), x), x, V::add(y, V::sub(x, x)));
}

template <class V>
VOLVOX_INLINE typename V::Reg erf(typename V::Reg x) {
  const auto zero = V::set(0.0F), one = V::set(1.0F);
  const auto a = V::min(V::set(kErfMax), V::sub(zero, V::negative_abs(x)));
  const auto near = V::fma(a, polynomial<V>(kErfP, V::mul(a, a)), a);
  const auto minus = V::sub(zero, a);
  const auto far = V::sub(one, exp<V>(V::fma(minus, polynomial<V>(kErfQ, a), minus)));
  return V::copy_sign(V::select_negative(V::sub(a, one), near, far), x);
}

}  // namespace volvox::cpu
