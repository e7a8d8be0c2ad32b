#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "loadgen/requests/random.h"

namespace volvox {

// How requests come. Open loops (poisson, constant) send on a schedule whatever the server does, as strangers
// do; a closed loop keeps a number in flight, and so slows down with the server.
enum class Arrivals : std::uint8_t { kPoisson, kConstant, kClosed };
std::string_view to_string(Arrivals arrivals);  // "poisson", …

// The schedule of an open loop: when each request is to be sent, fixed in advance by the seed. A late sender
// catches up with the schedule; the schedule never waits for it (no coordinated omission). One thread at a
// time.
class ArrivalSchedule {
 public:
  // `rate` in requests a second, above 0. Poisson starts with one gap after 0, constant at `first`.
  ArrivalSchedule(Arrivals arrivals, double rate, Duration first, std::uint64_t seed);

  // The next request's time, from the start of the run. Never decreases.
  Duration next();

 private:
  bool poisson_;
  double gap_ns_;
  double at_ns_;
  SeededRandom random_;
};

}  // namespace volvox
