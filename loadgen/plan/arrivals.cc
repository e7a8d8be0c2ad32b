#include "loadgen/plan/arrivals.h"

namespace volvox {
namespace {

Duration in_ns(double ns) {
  const auto never = static_cast<double>(kNeverDue.count());
  return ns < never ? Duration(static_cast<Duration::rep>(ns)) : kNeverDue;
}

}  // namespace

std::string_view to_string(Arrivals arrivals) {
  switch (arrivals) {
    case Arrivals::kPoisson:
      return "poisson";
    case Arrivals::kConstant:
      return "constant";
    case Arrivals::kClosed:
      return "closed";
    case Arrivals::kCurve:
      return "curve";
    case Arrivals::kTrace:
      return "trace";
  }
  return "?";
}

ArrivalSchedule::ArrivalSchedule(Arrivals arrivals, double rate, Duration first, std::uint64_t seed)
    : arrivals_(arrivals),
      gap_ns_(1e9 / rate),
      at_ns_(arrivals == Arrivals::kConstant ? static_cast<double>(first.count()) - gap_ns_ : 0.0),
      random_(seed) {}

ArrivalSchedule::ArrivalSchedule(std::shared_ptr<const RateCurve> curve, double part, std::uint64_t seed)
    : arrivals_(Arrivals::kCurve), gap_ns_(1 / part), random_(seed), curve_(std::move(curve)) {}

ArrivalSchedule::ArrivalSchedule(std::shared_ptr<const Trace> trace, std::uint64_t first, std::uint64_t step)
    : arrivals_(Arrivals::kTrace), random_(0), trace_(std::move(trace)), index_(first), step_(step) {}

Duration ArrivalSchedule::next() {
  if (arrivals_ == Arrivals::kTrace) {
    if (index_ >= trace_->size()) return kNeverDue;
    return (*trace_)[std::exchange(index_, index_ + step_)].at;
  }
  at_ns_ += arrivals_ == Arrivals::kConstant ? gap_ns_ : gap_ns_ * random_.exponential();
  return in_ns(arrivals_ == Arrivals::kCurve ? curve_->when(at_ns_) * 1e9 : at_ns_);
}

}  // namespace volvox
