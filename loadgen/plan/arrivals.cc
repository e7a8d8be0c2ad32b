#include "loadgen/plan/arrivals.h"

namespace volvox {

std::string_view to_string(Arrivals arrivals) {
  switch (arrivals) {
    case Arrivals::kPoisson:
      return "poisson";
    case Arrivals::kConstant:
      return "constant";
    case Arrivals::kClosed:
      return "closed";
  }
  return "?";
}

ArrivalSchedule::ArrivalSchedule(Arrivals arrivals, double rate, Duration first, std::uint64_t seed)
    : poisson_(arrivals == Arrivals::kPoisson),
      gap_ns_(1e9 / rate),
      at_ns_(poisson_ ? 0.0 : static_cast<double>(first.count()) - gap_ns_),
      random_(seed) {}

Duration ArrivalSchedule::next() {
  at_ns_ += poisson_ ? gap_ns_ * random_.exponential() : gap_ns_;
  // Beyond 2^62 ns (146 years) a request is never due.
  constexpr double kNever = 0x1.0p62;
  return Duration(static_cast<Duration::rep>(at_ns_ < kNever ? at_ns_ : kNever));
}

}  // namespace volvox
