#pragma once

namespace volvox::cpu {

// exp(x) = 2^n · exp(r), n = round(x / ln 2), |r| <= ln 2 / 2, and exp(r) = 1 + r + r²·q(r).
// q has degree 4; its coefficients are a least-squares fit, weighted by r, whose low coefficients were
// rounded to float before the higher ones were fitted. Relative error of 1 + r + r²·q(r), and of r + r²·q(r)
// as exp(r) - 1: below 0.24 · 2^-24.
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kLn2High = 0x1.62e430p-1F;
inline constexpr float kLn2Low = -0x1.05c610p-29F;
// Added to |y| < 2^22, it leaves round(y) in the low bits of the sum.
inline constexpr float kRoundMagic = 0x1.8p+23F;

inline constexpr float kExpQ0 = 0x1.000000p-1F;
inline constexpr float kExpQ1 = 0x1.5554acp-3F;
inline constexpr float kExpQ2 = 0x1.5554f0p-5F;
inline constexpr float kExpQ3 = 0x1.122a2ap-7F;
inline constexpr float kExpQ4 = 0x1.6d4394p-10F;

// log(m) = f + f²·p(f), f = m − 1, for m in [2/3, 4/3): a fit of degree 8 of the same kind. Relative error:
// below 0.09 · 2^-24.
inline constexpr int kTwoThirds = 0x3f2aaaab;  // the bits of 2/3, rounded up
inline constexpr float kLn2 = 0x1.62e430p-1F;
inline constexpr float kLogP[] = {-0x1.000000p-1F, 0x1.555500p-2F,  -0x1.ffff6ap-3F,
                                  0x1.99d268p-3F,  -0x1.55884ep-3F, 0x1.1eb8dep-3F,
                                  -0x1.f56284p-4F, 0x1.1ee68ap-3F,  -0x1.03037ap-3F};
inline constexpr float kSmallestNormal = 0x1p-126F;
inline constexpr float kLargest = 0x1.fffffep+127F;

// erf(x) = x + x·p(x²) for |x| < 1, and 1 − exp(−(x + x·q(x))) for x >= 1: relative errors below
// 0.03 · 2^-24. From 4 on it is 1.
inline constexpr float kErfP[] = {0x1.06eba8p-3F, -0x1.81273ep-2F,  0x1.ce2cf0p-4F, -0x1.b7f858p-6F,
                                  0x1.53ff92p-8F, -0x1.a3c95cp-11F, 0x1.48edeep-14F};
inline constexpr float kErfQ[] = {0x1.0794f4p-3F, 0x1.45169ap-1F,   0x1.b49082p-4F, -0x1.8a1f90p-6F,
                                  0x1.ef5504p-9F, -0x1.7540b6p-12F, 0x1.e6b76ap-17F};
inline constexpr float kErfMax = 4.0F;

// Beyond these the results are known: exp is inf or 0, sigmoid 0 or 1, tanh ±1.
inline constexpr float kExpMax = 89.0F;
inline constexpr float kExpMin = -104.0F;
inline constexpr float kSigmoidMin = -88.0F;  // n = -127, whose bit pattern as a scale is 0
inline constexpr float kTanhMin = -40.0F;     // exp(-40) - 1 rounds to -1

}  // namespace volvox::cpu
