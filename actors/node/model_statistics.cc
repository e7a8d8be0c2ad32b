#include "actors/node/model_statistics.h"

#include <chrono>

namespace volvox {
namespace {

std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

void ModelStatistics::succeeded(std::uint64_t queue_us, std::uint64_t compute_us, std::uint64_t total_us) {
  successes_.fetch_add(1, std::memory_order_relaxed);
  queue_us_.fetch_add(queue_us, std::memory_order_relaxed);
  compute_us_.fetch_add(compute_us, std::memory_order_relaxed);
  success_us_.fetch_add(total_us, std::memory_order_relaxed);
  last_ms_.store(milliseconds_since_1970(), std::memory_order_relaxed);
}

void ModelStatistics::failed(std::uint64_t total_us) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  failure_us_.fetch_add(total_us, std::memory_order_relaxed);
  last_ms_.store(milliseconds_since_1970(), std::memory_order_relaxed);
}

void ModelStatistics::reset() {
  for (auto* sum : {&successes_, &failures_, &queue_us_, &compute_us_, &success_us_, &failure_us_, &last_ms_})
    sum->store(0, std::memory_order_relaxed);
}

ModelStatistics::Sums ModelStatistics::sums() const {
  const auto read = [](const std::atomic<std::uint64_t>& sum) { return sum.load(std::memory_order_relaxed); };
  return {read(successes_),  read(failures_),   read(queue_us_), read(compute_us_),
          read(success_us_), read(failure_us_), read(last_ms_)};
}

}  // namespace volvox
