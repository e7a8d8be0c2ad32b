#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// What becomes of the spans of a traced request on their way to the collector.
enum class ExportOutcome : std::uint8_t {
  kSent,
  kNoRoom,       // the queue was full
  kUnreachable,  // given up after all attempts, or at the end of the process
  kRefused,      // by the collector
};
inline constexpr std::size_t kExportOutcomes = 4;

// What is counted of traces. All calls from any thread.
class TraceMetrics {
 public:
  explicit TraceMetrics(prometheus::Registry& registry);

  void lost(std::uint64_t records) { lost_.Increment(static_cast<double>(records)); }
  void not_followed() { not_followed_.Increment(); }
  void exported(ExportOutcome outcome, std::size_t spans) {
    exported_[static_cast<std::size_t>(outcome)]->Increment(static_cast<double>(spans));
  }
  void set_waiting(std::size_t requests) { waiting_.Set(static_cast<double>(requests)); }

 private:
  prometheus::Counter& lost_;
  prometheus::Counter& not_followed_;
  prometheus::Gauge& waiting_;
  std::array<prometheus::Counter*, kExportOutcomes> exported_{};
};

}  // namespace volvox
