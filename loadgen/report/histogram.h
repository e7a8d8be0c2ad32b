#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace volvox {

// Durations of a whole run in bounded memory, in the manner of HdrHistogram: buckets whose width is at most
// 1/1024 of their values, from 1 ns to 73 minutes (longer ones count as that). Percentiles are never
// understated, and overstated by less than 0.1 %; the maximum is exact. One thread at a time; merge() joins
// those of several.
class DurationHistogram {
 public:
  void record(Duration value);  // a negative one counts as 0
  void merge(const DurationHistogram& other);

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
