#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/time.h"

namespace volvox::gpu {

// A copy to the device costs microseconds however small it is. Collects ranges of a buffer that have been
// written, merges neighbours, and says when they are worth a copy: kUploadBytes of them, or kUploadPatience
// after the first. One thread at a time; time is an argument.
inline constexpr std::size_t kUploadBytes = std::size_t{64} << 10;
inline constexpr Duration kUploadPatience = std::chrono::microseconds(20);

class UploadBatch {
 public:
  struct Range {
    std::size_t begin = 0, size_bytes = 0;
    bool operator==(const Range&) const = default;
  };

  void add(std::size_t begin, std::size_t size_bytes, TimePoint now = {}) {
    if (size_bytes == 0) return;
    if (!ranges_.empty() && ranges_.back().begin + ranges_.back().size_bytes == begin) {
      ranges_.back().size_bytes += size_bytes;
    } else {
      ranges_.push_back({begin, size_bytes});
      if (ranges_.size() == 1) oldest_ = now;
    }
    bytes_ += size_bytes;
  }
  bool empty() const { return ranges_.empty(); }
  bool due(TimePoint now) const {
    return bytes_ >= kUploadBytes || (!ranges_.empty() && now - oldest_ >= kUploadPatience);
  }
  const std::vector<Range>& ranges() const { return ranges_; }
  void clear() {
    ranges_.clear();
    bytes_ = 0;
  }
  // Of ranges in any order, as several threads bring them.
  static void merge_neighbours(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[kept].begin + ranges[kept].size_bytes == ranges[i].begin) {
        ranges[kept].size_bytes += ranges[i].size_bytes;
      } else {
        ranges[++kept] = ranges[i];
      }
    }
    if (!ranges.empty()) ranges.resize(kept + 1);
  }
  // All ranges; what comes next begins anew, in the memory of `into`, which is empty.
  void take(std::vector<Range>& into) {
    std::swap(ranges_, into);
    clear();
  }

 private:
  std::vector<Range> ranges_;
  std::size_t bytes_ = 0;
  TimePoint oldest_{};
};

}  // namespace volvox::gpu
