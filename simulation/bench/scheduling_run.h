#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "batching/scheduler.h"
#include "shapes/random.h"
#include "simulation/bench/scheduling_case.h"

namespace volvox::bench {

struct SchedulingResult {
  double ns_per_cell = 0;           // admit, cancel, schedule, complete and recycle together
  double ns_per_request = 0;        // admit and cancel alone
  double allocations_per_task = 0;  // within those calls
  double mean_batch = 0;
  double mean_live = 0;
  std::uint64_t cells = 0, tasks = 0, requests = 0, cancelled = 0;
  std::uint32_t waiting = 0;  // for slots, at the end
};

struct SchedulingLoad {
  std::uint32_t live = 16384;
  double cancelled = 0.05;     // share of requests that are cancelled somewhere on their way
  std::uint32_t withheld = 2;  // newest tasks of a worker that are not reported done yet
  std::uint64_t warm_up_cells = 2'000'000;
  std::uint64_t cells = 8'000'000;
  std::uint64_t seed = 1;
};

// Drives a scheduler without a device: tasks are done as soon as `withheld` newer ones were submitted.
// Virtual time goes on by what the tasks would cost; requests arrive by a Poisson process twice as fast as
// they are served, and one that finds `live` others turns back, so that so many stay live. Only calls of the
// scheduler are timed.
class SchedulingRun {
 public:
  SchedulingRun(const SchedulingCase& what, const SchedulingLoad& load);
  SchedulingResult run();

 private:
  struct Cancellation {
    TimePoint at;
    RequestId id;
    bool operator>(const Cancellation& other) const { return at > other.at; }
  };
  // Adds the time and the allocations of a few calls to a sum.
  struct Cost {
    double ns = 0;
    std::uint64_t allocations = 0;
  };
  template <class Calls>
  void timed(Cost& cost, Calls calls);

  void populate();
  void turn();
  void arrive();
  void cancel_due();
  void serve(WorkerId worker);
  void take_events();
  void begin_measuring();

  const SchedulingCase& case_;
  const SchedulingLoad load_;
  SeededRandom chance_;
  Scheduler scheduler_;
  TimePoint now_{}, next_arrival_{};
  double mean_gap_ns_ = 0, sojourn_ns_ = 0;
  std::uint32_t live_ = 0;
  std::vector<std::deque<BatchedTask>> in_flight_;
  std::vector<BatchedTask> tasks_;
  std::vector<Event> events_;
  std::vector<Request> arriving_;
  std::vector<AdmitResult> admitted_;
  std::vector<RequestId> cancelling_;
  std::priority_queue<Cancellation, std::vector<Cancellation>, std::greater<>> cancellations_;

  Cost admitting_, scheduling_;
  std::uint64_t cells_ = 0, task_count_ = 0, requests_ = 0, cancelled_ = 0, turns_ = 0;
  double live_sum_ = 0;
};

}  // namespace volvox::bench
