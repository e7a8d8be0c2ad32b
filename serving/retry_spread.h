#pragma once

#include <algorithm>
#include <cstdint>

namespace volvox {

// Everybody who is refused in one moment gets the same advice of when to come again; so they would all come
// together, and be refused again. This spreads them over half as long again after that moment, but at most
// over ten seconds: refusals numbered one after the other (`number`) lie evenly in it, however many there
// are. Pure.
inline std::uint64_t spread_retry_us(std::uint64_t advice_us, std::uint64_t number) {
  constexpr std::uint64_t kMost = 10'000'000;
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // multiples of it fill a circle evenly
  const std::uint64_t span = std::min(advice_us / 2, kMost);
  const double place = static_cast<double>((number * kGoldenRatio) >> 11) * 0x1.0p-53;
  return advice_us + static_cast<std::uint64_t>(place * static_cast<double>(span));
}

}  // namespace volvox
