#include "loadgen/report/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace volvox {
namespace {

// Values below 2^11 have a bucket each; above, every power of two is cut into 2^10.
constexpr int kSubBits = 10;
constexpr std::uint64_t kLongest = (std::uint64_t{1} << 42) - 1;

std::size_t bucket_of(std::uint64_t value) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - (kSubBits + 1));
  return (static_cast<std::size_t>(shift) << kSubBits) + static_cast<std::size_t>(value >> shift);
}

std::uint64_t highest_in(std::size_t bucket) {
  constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  if (bucket < 2 * kSub) return bucket;
  const std::size_t shift = bucket / kSub - 1;
  const std::uint64_t mantissa = bucket - shift * kSub;
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace

void DurationHistogram::record(Duration value) {
  const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(value.count(), 0));
  const std::size_t bucket = bucket_of(std::min(ns, kLongest));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, ns);
}

void DurationHistogram::merge(const DurationHistogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

HistogramImage DurationHistogram::image() const {
  HistogramImage image{.max_ns = max_};
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    image.buckets.push_back(static_cast<std::uint32_t>(i));
    image.counts.push_back(buckets_[i]);
  }
  return image;
}

Result<DurationHistogram> DurationHistogram::from_image(const HistogramImage& image) {
  if (image.buckets.size() != image.counts.size()) return invalid("a histogram has a count for each bucket");
  const std::size_t last = bucket_of(std::min(image.max_ns, kLongest));
  const bool fits = image.buckets.empty() ? image.max_ns == 0 : image.buckets.back() == last;
  if (!fits) return invalid("a histogram's last bucket is that of its largest value");
  DurationHistogram histogram;
  histogram.buckets_.resize(image.buckets.empty() ? 0 : last + 1);
  histogram.max_ = image.max_ns;
  for (std::size_t i = 0; i < image.buckets.size(); ++i) {
    const bool ascends = i == 0 || image.buckets[i - 1] < image.buckets[i];
    if (!ascends || image.buckets[i] > last || image.counts[i] == 0)
      return invalid("a histogram's buckets ascend, and hold something");
    if (image.counts[i] > ~histogram.count_) return invalid("a histogram cannot hold so many values");
    histogram.count_ += image.counts[i];
    histogram.buckets_[image.buckets[i]] = image.counts[i];
  }
  return histogram;
}

Duration DurationHistogram::percentile(double fraction) const {
  if (count_ == 0) return Duration(0);
  // A fraction like 0.9 is a little off as a double; its rank must not be.
  constexpr double kOff = 1.0 - 1e-12;
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_) * kOff);
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return Duration(static_cast<Duration::rep>(std::min(highest_in(i), max_)));
  }
  return max();
}

}  // namespace volvox
