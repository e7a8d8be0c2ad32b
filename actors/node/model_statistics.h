#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace volvox {

// What has become of one model version's requests since it was loaded, whichever way they came in.
// Counts those that reached the device; refusals before that are in the metrics. Written by the manager, read
// by any thread.
class ModelStatistics {
 public:
  void succeeded(std::uint64_t queue_us, std::uint64_t compute_us, std::uint64_t total_us);
  void failed(std::uint64_t total_us);

  // Another model has the number now.
  void reset();

  struct Sums {
    std::uint64_t successes = 0, failures = 0;
    std::uint64_t queue_us = 0, compute_us = 0, success_us = 0, failure_us = 0;
    std::uint64_t last_ms = 0;  // when the last one ended, since 1970; 0: none yet
  };
  Sums sums() const;

 private:
  std::atomic<std::uint64_t> successes_{0}, failures_{0};
  std::atomic<std::uint64_t> queue_us_{0}, compute_us_{0}, success_us_{0}, failure_us_{0}, last_ms_{0};
};

// One for each model that may be installed, by its number.
using ModelStatisticsTable = std::unique_ptr<ModelStatistics[]>;

}  // namespace volvox
