#include <algorithm>

#include "batching/core.h"

namespace volvox {

void Scheduler::Core::complete(WorkerId worker, TaskSeq up_to, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  workers_[worker].suspended = false;
  TaskLog& log = workers_[worker].log;
  while (log.completed() < std::min(up_to, log.submitted())) {
    log.finish_oldest();
    finish_task(log.at(log.completed()), out);
  }
  admit_waiting();
}

void Scheduler::Core::finish_task(TaskRecord& record, std::vector<Event>& out) {
  --running_[record.type];
  for (LaneRef ref : record.ended) --requests_[request_of(ref)].open;
  for (const TaskRecord::Touched& touched : record.touched) requests_[touched.request].open -= touched.nodes;
  for (const TaskRecord::Mark& mark : record.steps) {
    if (requests_[mark.request].outcome != LiveRequest::Outcome::kNone) continue;
    Event event = event_for(mark.request, Event::Kind::kStepDone);
    event.lane = mark.lane;
    event.step = mark.step;
    out.push_back(event);
  }
  for (const TaskRecord::Mark& mark : record.nodes) {
    if (requests_[mark.request].outcome != LiveRequest::Outcome::kNone) continue;
    Event event = event_for(mark.request, Event::Kind::kNodeDone);
    event.step = mark.step;
    out.push_back(event);
  }
  for (const TaskRecord::Touched& touched : record.touched) settle(touched.request, out);
}

static Event::Kind kind_of(LiveRequest::Outcome outcome) {
  if (outcome == LiveRequest::Outcome::kCancelled) return Event::Kind::kCancelled;
  return outcome == LiveRequest::Outcome::kExpired ? Event::Kind::kExpired : Event::Kind::kFailed;
}

bool Scheduler::Core::in_flight_request(const LiveRequest& live) const {
  if (live.home == kNoWorker) return false;
  return live.cohort_rows > 0 || live.last_seq > workers_[live.home].log.completed();
}

// A task with a row of the request is done, or the request was withdrawn: is it over, or at least free to
// move?
void Scheduler::Core::settle(std::uint32_t index, std::vector<Event>& out) {
  LiveRequest& live = requests_[index];
  if (live.state != LiveRequest::State::kRunning || in_flight_request(live)) return;
  if (live.outcome != LiveRequest::Outcome::kNone) return finalise(index, kind_of(live.outcome), out);
  if (live.open == 0) return finalise(index, Event::Kind::kDone, out);
  let_go(index);
}

// Nothing of the request runs: if it was draining, any worker may have it now.
void Scheduler::Core::let_go(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  if (!live.draining) return;
  live.draining = false;
  set_home(index, kNoWorker);
  wake_others(index);
}

Event Scheduler::Core::event_for(std::uint32_t index, Event::Kind kind) const {
  const LiveRequest& live = requests_[index];
  Event event;
  event.kind = kind;
  event.id = {index, live.generation};
  event.tag = live.request.tag;
  event.first_submit = live.first_submit;
  return event;
}

void Scheduler::Core::finalise(std::uint32_t index, Event::Kind kind, std::vector<Event>& out) {
  out.push_back(event_for(index, kind));
  totals_.requests_done += kind == Event::Kind::kDone ? 1 : 0;
  totals_.requests_failed += kind == Event::Kind::kFailed ? 1 : 0;
  totals_.requests_cancelled += kind == Event::Kind::kCancelled ? 1 : 0;
  totals_.requests_expired += kind == Event::Kind::kExpired ? 1 : 0;
  release(index);
}

// Takes everything of the request out of cohorts and queues; what is in flight runs out.
void Scheduler::Core::withdraw(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  if (live.is_graph) {
    for (NodeGroup& group : live.graph.groups) {
      if (group.entry != kNoEntry) queues_.erase(group.entry);
      group.entry = kNoEntry;
      group.count = 0;
    }
    return;
  }
  for (LaneId l = 0; l < lane_count(live); ++l) {
    LaneRun& run = live.lanes[l];
    if (run.state == LaneRun::State::kCohort) leave_cohort(lane_ref(index, l));
    if (run.state == LaneRun::State::kQueued) queues_.erase(run.entry);
    run.entry = kNoEntry;
    run.state = LaneRun::State::kEnded;
  }
}

void Scheduler::Core::cancel(RequestId id, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  end_early(id, LiveRequest::Outcome::kCancelled, out);
  admit_waiting();
}

void Scheduler::Core::end_early(RequestId id, LiveRequest::Outcome outcome, std::vector<Event>& out) {
  LiveRequest* live = find(id);
  if (live == nullptr || live->outcome != LiveRequest::Outcome::kNone) return;
  if (live->state == LiveRequest::State::kWaiting) {
    stop_waiting(id.index);
    finalise(id.index, kind_of(outcome), out);
    return;
  }
  live->outcome = outcome;
  withdraw(id.index);
  settle(id.index, out);
}

void Scheduler::Core::stop(RequestId id, LaneId l, Step last, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  LiveRequest* live = find(id);
  if (live == nullptr || live->is_graph || l >= live->lanes.size()) return;
  LaneRun& run = live->lanes[l];
  if (live->state != LiveRequest::State::kRunning || live->outcome != LiveRequest::Outcome::kNone ||
      run.state == LaneRun::State::kEnded || last + 1 >= run.run_length) {
    return;
  }
  const LaneRef ref = lane_ref(id.index, l);
  run.run_length = last + 1;
  run.length = std::min(run.length, run.run_length);
  if (cursor(ref) < run.run_length) {
    if (run.state == LaneRun::State::kCohort) note_next_event(ref, cohort_of(ref));
    return;
  }
  if (run.state == LaneRun::State::kCohort) leave_cohort(ref);
  if (run.state == LaneRun::State::kQueued) queues_.erase(run.entry);
  run.entry = kNoEntry;
  run.state = LaneRun::State::kEnded;
  TaskLog* log = live->home == kNoWorker ? nullptr : &workers_[live->home].log;
  if (log != nullptr && live->last_seq > log->completed()) {
    log->at(live->last_seq).ended.push_back(ref);
  } else {
    --live->open;
  }
  wake_others(id.index);
  settle(id.index, out);
  admit_waiting();
}

void Scheduler::Core::collect_failed(WorkerId worker, TaskSeq first_bad, std::vector<std::uint32_t>& failed) {
  Worker& broken = workers_[worker];
  for (const Cohort& cohort : broken.cohorts) {
    if (cohort.last_seq < first_bad) continue;
    for (LaneRef ref : cohort.rows()) {
      if (ref != kNoLane) failed.push_back(request_of(ref));
    }
  }
  for (TaskSeq seq = first_bad; seq <= broken.log.submitted(); ++seq) {
    for (const TaskRecord::Touched& touched : broken.log.at(seq).touched) failed.push_back(touched.request);
  }
  std::sort(failed.begin(), failed.end());
  failed.erase(std::unique(failed.begin(), failed.end()), failed.end());
}

void Scheduler::Core::fail(WorkerId worker, TaskSeq first_bad, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  Worker& broken = workers_[worker];
  broken.suspended = false;
  std::vector<std::uint32_t> failed;
  collect_failed(worker, first_bad, failed);
  for (std::uint32_t index : failed) {
    LiveRequest& live = requests_[index];
    if (live.state != LiveRequest::State::kRunning) continue;
    if (live.outcome == LiveRequest::Outcome::kNone) live.outcome = LiveRequest::Outcome::kFailed;
    withdraw(index);
  }
  empty_cohorts(broken);
  while (broken.log.in_flight() > 0) {
    broken.log.finish_oldest();
    --running_[broken.log.at(broken.log.completed()).type];
  }
  for (std::uint32_t index : failed) settle(index, out);
  admit_waiting();
}

std::uint32_t Scheduler::Core::in_flight_total() const {
  std::uint32_t total = 0;
  for (const Worker& worker : workers_) total += worker.log.in_flight();
  return total;
}

}  // namespace volvox
