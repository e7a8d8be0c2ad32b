#include "loadgen/run/progress.h"

#include <array>
#include <cstdio>

namespace volvox {

ProgressReading ProgressMeter::read(Duration at) {
  ProgressReading reading;
  reading.at_s = std::chrono::duration<double>(at).count();
  reading.offered = progress_.offered.load(std::memory_order_relaxed);
  reading.completed = progress_.completed.load(std::memory_order_relaxed);
  reading.failed = progress_.failed.load(std::memory_order_relaxed);
  const std::uint64_t latency_ns = progress_.latency_ns.load(std::memory_order_relaxed);
  reading.worst_late_ms = static_cast<double>(progress_.worst_late_ns.exchange(0)) * 1e-6;
  const auto answers = static_cast<double>(reading.completed - last_completed_);
  const double interval_s = std::chrono::duration<double>(at - last_at_).count();
  if (interval_s > 0) reading.rate = answers / interval_s;
  if (answers > 0)
    reading.mean_latency_ms = static_cast<double>(latency_ns - last_latency_ns_) * 1e-6 / answers;
  last_at_ = at;
  last_completed_ = reading.completed;
  last_latency_ns_ = latency_ns;
  return reading;
}

std::string progress_line(const ProgressReading& reading) {
  std::array<char, 200> line{};
  const int size = std::snprintf(
      line.data(), line.size(),
      "%6.1f s%s  sent %llu  answered %llu  failed %llu  %.0f/s  latency %.2f ms  sent late by at most %.2f "
      "ms",
      reading.at_s, reading.warming_up ? " (warm-up)" : "", static_cast<unsigned long long>(reading.offered),
      static_cast<unsigned long long>(reading.completed), static_cast<unsigned long long>(reading.failed),
      reading.rate, reading.mean_latency_ms, reading.worst_late_ms);
  return size > 0 ? std::string(line.data()) : std::string();
}

}  // namespace volvox
