#pragma once

#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// The clients' connections, as counted since the start where nothing else is said.
struct DoorCounts {
  std::uint64_t connections = 0, receiving_bytes = 0;  // at the moment
  std::uint64_t refused_full = 0, refused_address = 0, refused_key = 0;
  std::uint64_t accept_failures = 0;
  std::uint64_t closed_unfinished = 0, closed_oversized = 0, closed_idle = 0;
};

// What is counted of connections at the clients' door. One thread.
class DoorMetrics {
 public:
  explicit DoorMetrics(prometheus::Registry& registry);

  void set(const DoorCounts& counts);

 private:
  // A counter of Prometheus' that follows one kept elsewhere.
  struct Follower {
    prometheus::Counter* counter;
    std::uint64_t DoorCounts::*count;
  };

  prometheus::Gauge& connections_;
  prometheus::Gauge& receiving_bytes_;
  Follower followers_[7];
  DoorCounts before_;
};

}  // namespace volvox
