#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "base/time.h"
#include "loadgen/run/connection.h"

namespace volvox {

inline constexpr Duration kAlwaysAwake = std::chrono::hours(1);

// How long before each request of its schedule the sender of a part no longer sleeps, on a machine with so
// many processors that sends all these parts. A sleep ends late by some tens of microseconds; where the gaps
// of a schedule are not much longer, what was due meanwhile would go out in bursts. So the sender of a fast
// part (10,000 requests a second) never sleeps, as long as there is a processor for each such sender and a
// second one for whoever sends on for it and answers. Where there are fewer, they would keep each other from
// being punctual, and sleep until shortly before each request.
Duration awake_before_sends(const ConnectionPlan& part, std::span<const ConnectionPlan> parts,
                            std::size_t processors);

// On which the calling thread may run: fewer than the machine has, for one that is pinned.
std::size_t own_processors();

}  // namespace volvox
