#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "loadgen/plan/rate_curve.h"
#include "loadgen/requests/trace.h"
#include "shapes/random.h"

namespace volvox {

// How requests come. Open loops send on a schedule whatever the server does, as strangers do: at random or
// evenly, at random by a curve of rates, or as a trace says. A closed loop keeps a number in flight, and so
// slows down with the server. Travels to agents: append, never reorder.
enum class Arrivals : std::uint8_t { kPoisson, kConstant, kClosed, kCurve, kTrace };
std::string_view to_string(Arrivals arrivals);  // "poisson", …

// A request that is due then is never due.
inline constexpr Duration kNeverDue{std::int64_t{1} << 62};  // 146 years

// The schedule of an open loop: when each request is to be sent, fixed in advance by the seed. A late sender
// catches up with the schedule; the schedule never waits for it (no coordinated omission). One thread at a
// time.
class ArrivalSchedule {
 public:
  // `rate` in requests a second, above 0. Poisson starts with one gap after 0, constant at `first`.
  ArrivalSchedule(Arrivals arrivals, double rate, Duration first, std::uint64_t seed);
  // By this part of the rates of a curve.
  ArrivalSchedule(std::shared_ptr<const RateCurve> curve, double part, std::uint64_t seed);
  // At the times of the trace's entries `first`, first + step, …
  ArrivalSchedule(std::shared_ptr<const Trace> trace, std::uint64_t first, std::uint64_t step);

  // The next request's time, from the start of the run; kNeverDue when there is none. Never decreases.
  Duration next();

 private:
  Arrivals arrivals_;
  double gap_ns_ = 0;
  double at_ns_ = 0;  // of a curve: the requests due so far, on average
  SeededRandom random_;
  std::shared_ptr<const RateCurve> curve_{};
  std::shared_ptr<const Trace> trace_{};
  std::uint64_t index_ = 0, step_ = 1;  // of the trace
};

}  // namespace volvox
