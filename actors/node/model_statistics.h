#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "monitoring/metrics/model_requests.h"

namespace volvox {

struct IncomingRequest;
struct Outcome;

// What has become of one model version's requests since it was loaded, by the door through which they came.
// Counts those that reached the device; refusals before that are in the metrics. Written by the manager, read
// by any thread.
class ModelStatistics {
 public:
  // The request has ended so, after that time; one that was given up before counts as that.
  void ended(const IncomingRequest& request, const Outcome& outcome, std::uint64_t total_us);

  // Another model has the number now.
  void reset();

  struct Sums {
    std::uint64_t successes = 0, failures = 0;
    std::uint64_t queue_us = 0, compute_us = 0, success_us = 0, failure_us = 0;
    std::uint64_t last_ms = 0;  // when the last one ended, since 1970; 0: none yet
  };
  Sums sums() const;
  // The same as metrics show it, under that name ("lstm/1").
  ModelRequests requests(std::string model) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  // Durations that one thread adds to while others read.
  struct LiveDurations {
    std::array<Count, kDurationBuckets> counts{};
    Count sum_us{0};

    void add(std::uint64_t us);
    void reset();
    Durations read() const;
  };
  struct LiveDoor {
    std::array<Count, kOutcomes> outcomes{};
    LiveDurations queue, compute, total;
  };

  void succeeded(Door door, std::uint64_t queue_us, std::uint64_t compute_us, std::uint64_t total_us);
  void failed(Door door, ErrorCode error, std::uint64_t total_us);
  LiveDoor& by(Door door) { return doors_[static_cast<std::size_t>(door)]; }

  std::array<LiveDoor, kDoors.size()> doors_;
  Count failure_us_{0}, last_ms_{0};
};

// One for each model that may be installed, by its number.
using ModelStatisticsTable = std::unique_ptr<ModelStatistics[]>;

}  // namespace volvox
