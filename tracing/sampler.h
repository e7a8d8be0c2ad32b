#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/time.h"
#include "tracing/trace_context.h"

namespace volvox {

struct SamplingOptions {
  double rate = 0;                     // share of requests, 0 to 1
  std::uint32_t most_per_second = 0;   // of those whose callers record them
  std::function<void()> on_refused{};  // one of these was not followed; any thread
};

// Which requests are recorded when nobody watches them all. Whatever its rate, it chooses by the trace's
// number alone, as OpenTelemetry does (its last 56 bits are random: W3C Trace Context Level 2, §2.2.2), so
// that processes with one rate record the same traces as a whole. Any thread.
class TraceSampler {
 public:
  explicit TraceSampler(SamplingOptions options);

  bool chooses(TraceId trace) const { return (trace.lo & kRandomBits) >= threshold_; }
  // Whether to record one because its caller does: up to so many of each second.
  bool follows(TimePoint now);

 private:
  static constexpr std::uint64_t kRandomBits = (std::uint64_t{1} << 56) - 1;

  const SamplingOptions options_;
  const std::uint64_t threshold_;
  std::atomic<std::uint64_t> followed_{0};  // the second, above how many it has had
};

}  // namespace volvox
