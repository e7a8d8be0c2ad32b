#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace volvox {

inline constexpr double kMicrosecond = 1e-6;  // in seconds, as metrics have times

// Upper ends, in microseconds, of the buckets by which the times of one model's requests are counted. They
// are coarse, for each model has them once for each door: 64 models have room on a page of 1 MiB. The times
// of all requests together are counted finely (RequestMetrics).
inline constexpr std::array<std::uint64_t, 12> kDurationBounds{
    30, 100, 300, 1'000, 3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000, 5'000'000, 60'000'000};
inline constexpr std::size_t kDurationBuckets =
    kDurationBounds.size() + 1;  // the last one: all that is longer

// The bucket of a time that takes so long, its upper end included.
inline std::size_t duration_bucket(std::uint64_t us) {
  return static_cast<std::size_t>(std::lower_bound(kDurationBounds.begin(), kDurationBounds.end(), us) -
                                  kDurationBounds.begin());
}

// Times by their buckets. A plain value.
struct Durations {
  std::array<std::uint64_t, kDurationBuckets> counts{};
  std::uint64_t sum_us = 0;
};

}  // namespace volvox
