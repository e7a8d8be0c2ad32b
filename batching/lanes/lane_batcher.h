#pragma once

#include <cstdint>
#include <vector>

#include "batching/lanes/bounds.h"
#include "batching/lanes/lane_frontiers.h"
#include "batching/pins.h"
#include "batching/policy/policy.h"
#include "batching/scheduler_stats.h"

namespace volvox {

// Forms tasks of lanes: of a cohort, whose lanes take a step each, or, where the steps of a lane do not read
// each other, of spans of steps. A lane is queued when its next step is ready, that is, when everything that
// it reads was submitted; else the lane that it waits for wakes it (bounds.h). Lanes of a request that has
// begun to end are not touched. Not thread-safe; `now` is the time of the call that the scheduler is in.
class LaneBatcher {
 public:
  LaneBatcher(const SchedulerConfig& config, RequestTable& requests, ReadyQueues& queues,
              std::vector<Worker>& workers, Pins& pins, LaneFrontiers& frontiers, SchedulerStats& totals,
              const TimePoint& now)
      : config_(config),
        requests_(requests),
        queues_(queues),
        workers_(workers),
        pins_(pins),
        frontiers_(frontiers),
        totals_(totals),
        now_(now) {}

  // The request, which has its slots, runs from now on.
  void enter(std::uint32_t request);
  // Something that its lanes wait for may have happened.
  void wake(std::uint32_t request);
  // Takes rows of the type that are ready for the worker. False: there was nothing to take.
  bool form(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);

  // The request ends early: its lanes leave queues and cohorts for good.
  void withdraw(std::uint32_t request);
  // Its lanes leave them until leave_home(), which is due as soon as nothing of it is in flight.
  void drain(std::uint32_t request);
  void leave_home(std::uint32_t request);  // does nothing unless it drains
  // The row tables of the worker's device are gone, or will be: all lanes go back to the queue.
  void empty_cohorts(Worker& worker);
  void change_class(std::uint32_t request, PriorityClass from, PriorityClass to);
  // Scheduler::stop(): true when the request may be over now.
  bool stop(std::uint32_t request, LaneId lane, Step last);

 private:
  // A lane, looked up once for all that happens to it in a call.
  struct Lane {
    LaneRef ref;
    LiveRequest& live;
    LaneRun& run;
    const LaneSpec& spec;
  };
  Lane at(LaneRef ref) const {
    LiveRequest& live = requests_[request_of(ref)];
    return {ref, live, live.lanes[lane_of(ref)], live.request.plan->lanes[lane_of(ref)]};
  }
  Cohort& cohort_of(const Lane& lane) const { return workers_[lane.live.home].cohorts[lane.spec.type]; }

  std::uint32_t done(const Lane& lane) const;
  static std::uint32_t listed(const Lane& lane);
  LaneBound bound(const Lane& lane, std::uint32_t want);
  std::uint32_t wanted_steps(const Lane& lane) const;
  void activate(const Lane& lane);
  void wake_at(const Lane& blocker, std::uint32_t steps);
  void enqueue(const Lane& lane, std::uint32_t ready, bool front);
  void dequeue(LaneRun& run);
  static RowBinding& bind(const Lane& lane, Task& task);

  bool form_cohort(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);
  void fetch_joiners(EntryId id) const;
  void seat_joiners(WorkerId worker, CellTypeId type, std::uint32_t capacity, Task& task);
  void seat(const Lane& lane, WorkerId worker, Cohort& cohort, PriorityClass priority, Task& task);
  bool evict_for(WorkerId worker, CellTypeId type, PriorityClass priority);
  void park(LaneRef ref, bool front);
  void leave_cohort(const Lane& lane);
  void note_next_event(const Lane& lane, Cohort& cohort);
  void look_at_due(WorkerId worker, Task& task, TaskRecord& record);
  bool look_at(const Lane& lane, Cohort& cohort, Task& task, TaskRecord& record);
  void report_steps(const Cohort& cohort, TaskRecord& record);

  void count_anew(WorkerId worker, const Choice& choice);
  bool form_spans(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);
  std::uint32_t span_of(const Lane& lane, std::uint32_t at_most, std::uint32_t row, Task& task);
  void take_span(const Lane& lane, std::uint32_t room, Task& task, TaskRecord& record);
  void end_lane(const Lane& lane, TaskRecord& record);

  const SchedulerConfig& config_;
  RequestTable& requests_;
  ReadyQueues& queues_;
  std::vector<Worker>& workers_;
  Pins& pins_;
  LaneFrontiers& frontiers_;
  SchedulerStats& totals_;
  const TimePoint& now_;
  std::vector<LaneRef> due_, moved_on_;  // scratch
};

}  // namespace volvox
