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

// Beyond these the results are known: exp is inf or 0, sigmoid 0 or 1, tanh ±1.
inline constexpr float kExpMax = 89.0F;
inline constexpr float kExpMin = -104.0F;
inline constexpr float kSigmoidMin = -88.0F;  // n = -127, whose bit pattern as a scale is 0
inline constexpr float kTanhMin = -40.0F;     // exp(-40) - 1 rounds to -1

}  // namespace volvox::cpu
