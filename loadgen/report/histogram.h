#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

// A histogram as it travels between machines: the numbers of the buckets that hold something, ascending, and
// how much each holds.
struct HistogramImage {
  std::vector<std::uint32_t> buckets{};
  std::vector<std::uint64_t> counts{};
  std::uint64_t max_ns = 0;

  bool operator==(const HistogramImage&) const = default;
};

// Durations of a whole run in bounded memory, in the manner of HdrHistogram: buckets whose width is at most
// 1/1024 of their values, from 1 ns to 73 minutes (longer ones count as that). Percentiles are never
// understated, and overstated by less than 0.1 %; the count and the maximum are exact. Merging loses nothing:
// the percentiles of merged ones are those of all their values recorded together. One thread at a time;
// merge() joins those of several threads, and image() takes one to another machine.
class DurationHistogram {
 public:
  void record(Duration value);  // a negative one counts as 0
  void merge(const DurationHistogram& other);

  HistogramImage image() const;
  // INVALID_ARGUMENT for what no histogram has as its image, whatever a stranger made of it.
  static Result<DurationHistogram> from_image(const HistogramImage& image);

  std::uint64_t count() const { return count_; }
  Duration max() const { return Duration(static_cast<Duration::rep>(max_)); }

  // The smallest duration that at least `fraction` (0 to 1) of the values do not exceed; 0 when there are
  // none.
  Duration percentile(double fraction) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace volvox
