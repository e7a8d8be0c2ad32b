// What a machine does to a thread that has nothing to do but to look at the clock: the load generator's
// schedule kept by one that sends nothing, to nobody. No sender on this machine can be more punctual.
//
//   volvox_pace RATE SECONDS    prints, as JSON, gap_variance_ratio and late_p99_ms as `volvox load` reports
//   them.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "loadgen/plan/arrivals.h"
#include "loadgen/report/gaps.h"
#include "loadgen/report/histogram.h"

int main(int argc, char** argv) {
  const double rate = argc == 3 ? std::atof(argv[1]) : 0, seconds = argc == 3 ? std::atof(argv[2]) : 0;
  if (!(rate > 0) || !(seconds > 0)) return std::fprintf(stderr, "usage: volvox_pace RATE SECONDS\n"), 2;
  using namespace volvox;  // NOLINT(google-build-using-namespace): a program of one function
  ArrivalSchedule schedule(Arrivals::kPoisson, rate, Duration::zero(), 1);
  SendGaps gaps;
  DurationHistogram late;
  Duration planned_before{}, sent_before{};
  const TimePoint start = steady_now();
  for (Duration due = schedule.next(); due < std::chrono::duration<double>(seconds); due = schedule.next()) {
    Duration sent = steady_now() - start;
    while (sent < due) sent = steady_now() - start;
    gaps.add(due - planned_before, sent - sent_before);
    late.record(sent - due);
    planned_before = due;
    sent_before = sent;
  }
  const std::chrono::duration<double, std::milli> late_p99 = late.percentile(0.99);
  std::printf("{\"gap_variance_ratio\": %.3f, \"late_p99_ms\": %.3f}\n", gaps.variance_ratio(),
              late_p99.count());
  return 0;
}
