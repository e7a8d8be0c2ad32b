#pragma once

#include <cstdint>

#include "base/time.h"

namespace volvox {

// The gaps between the sends of one connection, as planned and as they came. A generator that is held up and
// then hurries sends in bursts that nobody asked for: its gaps vary more than the plan's. One thread at a
// time; merge() joins those of several connections.
class SendGaps {
 public:
  struct Sums {
    double planned_us = 0, planned_us2 = 0;  // of the gaps, of their squares
    double sent_us = 0, sent_us2 = 0;
    friend bool operator==(const Sums&, const Sums&) = default;
  };

  SendGaps() = default;
  SendGaps(std::uint64_t count, const Sums& sums) : count_(count), sums_(sums) {}

  void add(Duration planned, Duration sent);
  void merge(const SendGaps& other);

  std::uint64_t count() const { return count_; }
  const Sums& sums() const { return sums_; }

  // The variance of the gaps between sends over that of the planned ones; 0 where nothing was planned to
  // vary.
  double variance_ratio() const;

 private:
  std::uint64_t count_ = 0;
  Sums sums_;
};

}  // namespace volvox
