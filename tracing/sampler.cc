#include "tracing/sampler.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace volvox {
namespace {

std::uint64_t threshold_of(double rate) {
  return static_cast<std::uint64_t>(std::ldexp(1.0 - rate, 56));
}

}  // namespace

TraceSampler::TraceSampler(SamplingOptions options)
    : options_(std::move(options)), threshold_(threshold_of(options_.rate)) {}

bool TraceSampler::follows(TimePoint now) {
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::uint64_t second = static_cast<std::uint64_t>(since) << 32;
  std::uint64_t seen = followed_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = (seen >> 32 == second >> 32 ? seen : second) + 1;
    if ((next & 0xffffffff) > options_.most_per_second) break;
    if (followed_.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return true;
  }
  if (options_.on_refused) options_.on_refused();
  return false;
}

}  // namespace volvox
