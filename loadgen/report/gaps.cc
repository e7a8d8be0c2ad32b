#include "loadgen/report/gaps.h"

#include <algorithm>
#include <chrono>

namespace volvox {
namespace {

double microseconds_of(Duration gap) {
  return std::chrono::duration<double, std::micro>(gap).count();
}

// Gaps that vary by less than a nanosecond or so are even, and their sums' rounding is not to be divided by.
constexpr double kEvenUs2 = 1e-5;

double variance(double sum, double squares, std::uint64_t count) {
  const double mean = sum / static_cast<double>(count);
  return std::max(0.0, squares / static_cast<double>(count) - mean * mean);
}

}  // namespace

void SendGaps::add(Duration planned, Duration sent) {
  const double plan = microseconds_of(planned), was = microseconds_of(sent);
  ++count_;
  sums_.planned_us += plan;
  sums_.planned_us2 += plan * plan;
  sums_.sent_us += was;
  sums_.sent_us2 += was * was;
}

void SendGaps::merge(const SendGaps& other) {
  count_ += other.count_;
  sums_.planned_us += other.sums_.planned_us;
  sums_.planned_us2 += other.sums_.planned_us2;
  sums_.sent_us += other.sums_.sent_us;
  sums_.sent_us2 += other.sums_.sent_us2;
}

double SendGaps::variance_ratio() const {
  if (count_ == 0) return 0;
  const double planned = variance(sums_.planned_us, sums_.planned_us2, count_);
  if (planned < kEvenUs2) return 0;
  return variance(sums_.sent_us, sums_.sent_us2, count_) / planned;
}

}  // namespace volvox
