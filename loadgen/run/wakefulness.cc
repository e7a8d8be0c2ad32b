#include "loadgen/run/wakefulness.h"

#include <algorithm>

#include <sched.h>

namespace volvox {
namespace {

constexpr double kFastRps = 10'000;
constexpr std::size_t kProcessorsOfEach = 2;
constexpr Duration kShortlyBefore = std::chrono::microseconds(30);

// Of a curve and of a trace nothing is known: their rate is only a share.
bool is_fast(const ConnectionPlan& part) {
  const bool has_rate = part.arrivals == Arrivals::kPoisson || part.arrivals == Arrivals::kConstant;
  return has_rate && part.rate > kFastRps;
}

}  // namespace

Duration awake_before_sends(const ConnectionPlan& part, std::span<const ConnectionPlan> parts,
                            std::size_t processors) {
  if (!is_fast(part)) return Duration(0);
  const auto fast = static_cast<std::size_t>(std::count_if(parts.begin(), parts.end(), is_fast));
  return fast * kProcessorsOfEach <= processors ? kAlwaysAwake : kShortlyBefore;
}

std::size_t own_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<std::size_t>(CPU_COUNT(&allowed));
}

}  // namespace volvox
