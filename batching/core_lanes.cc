#include <algorithm>

#include "batching/core.h"
#include "batching/cost.h"

namespace volvox {

// Readiness of lanes. A lane's step is ready when every step that it reads was submitted; all tasks of a
// request are on one queue while any is in flight, so submission order is enough (DESIGN §3.1).

const LaneSpec& Scheduler::Core::spec(LaneRef ref) const {
  return requests_[request_of(ref)].request.plan->lanes[lane_of(ref)];
}

std::uint32_t Scheduler::Core::cursor(LaneRef ref) {
  const LaneRun& run = lane(ref);
  if (run.state != LaneRun::State::kCohort) return run.cursor;
  return static_cast<std::uint32_t>(cohort_of(ref).step() - run.start);
}

void Scheduler::Core::Bound::limit(std::int64_t at_most, std::uint8_t lane, std::int64_t lane_needs) {
  if (at_most >= allowed) return;
  allowed = static_cast<std::uint32_t>(std::max<std::int64_t>(at_most, 0));
  blocker = lane;
  needed = static_cast<std::uint32_t>(std::max<std::int64_t>(lane_needs, 1));
}

void Scheduler::Core::bound_by_producer(Bound& bound, LaneRef ref, const LaneEdge& edge,
                                        std::uint32_t target) {
  const LiveRequest& live = requests_[request_of(ref)];
  if (edge.before_first != LaneEdge::kNone) {
    const std::uint32_t steps = live.lanes[edge.before_first].run_length;
    if (cursor(lane_ref(request_of(ref), edge.before_first)) < steps)
      bound.limit(0, edge.before_first, steps);
  }
  if (edge.from == lane_of(ref)) return;
  const LaneRun& producer = live.lanes[edge.from];
  const std::uint32_t done = cursor(lane_ref(request_of(ref), edge.from));
  if (done >= producer.run_length) return;
  const std::int64_t first = edge.offset + (edge.from_end ? std::int64_t{producer.length} - 1 : 0);
  if (edge.all) {
    bound.limit(0, edge.from, producer.run_length);
  } else if (edge.stride > 0) {
    bound.limit(done - first, edge.from, std::min<std::int64_t>(target + first, producer.run_length));
  } else if (first >= done) {
    bound.limit(0, edge.from, first + 1);
  }
}

// How many steps of the lane may have been submitted, as the other lanes of its request stand: what it reads
// must have been submitted, and a slot that it writes again must have been read.
Scheduler::Core::Bound Scheduler::Core::bound(LaneRef ref, std::uint32_t want) {
  const std::uint32_t index = request_of(ref);
  const LiveRequest& live = requests_[index];
  const LaneRun& run = live.lanes[lane_of(ref)];
  const auto& specs = live.request.plan->lanes;
  Bound bound{run.run_length, LaneEdge::kNone, 0};
  const std::uint32_t target = cursor(ref) + want;
  for (const LaneEdge& edge : specs[lane_of(ref)].edges) bound_by_producer(bound, ref, edge, target);
  if (specs.size() == 1 || run.ring >= run.run_length || !specs[lane_of(ref)].has_state) return bound;
  for (LaneId reader = 0; reader < lane_count(live); ++reader) {
    if (reader == lane_of(ref) || live.lanes[reader].state == LaneRun::State::kEnded) continue;
    for (const LaneEdge& edge : specs[reader].edges) {
      if (edge.from != lane_of(ref) || edge.all || edge.stride <= 0) continue;
      const std::int64_t ahead =
          std::int64_t{run.ring} + edge.offset + (edge.from_end ? std::int64_t{run.length} - 1 : 0);
      bound.limit(cursor(lane_ref(index, reader)) + ahead, reader, std::int64_t{target} - ahead);
    }
  }
  return bound;
}

// An eager lane that must wait for room in its window waits for half of it, so that it runs in few, large
// spans.
std::uint32_t Scheduler::Core::wanted_steps(LaneRef ref) {
  const LaneRun& run = lane(ref);
  if (!config_.types[spec(ref).type].independent) return 1;
  return std::clamp(run.ring / 2, 1U, run.run_length - run.cursor);
}

// Queues the lane if it is ready, else has the lane that it waits for wake it.
void Scheduler::Core::activate(LaneRef ref) {
  const LiveRequest& live = requests_[request_of(ref)];
  LaneRun& run = lane(ref);
  if (run.state != LaneRun::State::kBlocked || live.draining || !live.landed) return;
  const std::uint32_t want = wanted_steps(ref);
  const Bound bound = this->bound(ref, want);
  if (bound.allowed >= run.cursor + want) {
    const bool spans = config_.types[spec(ref).type].independent;
    enqueue_lane(ref, spans ? bound.allowed - run.cursor : 1, false);
  } else {
    arm(request_of(ref), bound.blocker, bound.needed);
  }
}

void Scheduler::Core::arm(std::uint32_t request, std::uint8_t blocker, std::uint32_t needed) {
  const LaneRef ref = lane_ref(request, blocker);
  LaneRun& run = lane(ref);
  run.wake_at = std::min(run.wake_at, needed);
  if (run.state != LaneRun::State::kCohort) return;
  Cohort& cohort = cohort_of(ref);
  const std::uint64_t at = run.start + needed - 1;
  if (at < run.event_step && at >= cohort.step()) run.event_step = cohort.note(ref, at);
}

void Scheduler::Core::wake_others(std::uint32_t request) {
  const LaneId lanes = lane_count(requests_[request]);
  for (LaneId l = 0; l < lanes; ++l) activate(lane_ref(request, l));
}

void Scheduler::Core::enqueue_lane(LaneRef ref, std::uint32_t ready, bool front) {
  const LiveRequest& live = requests_[request_of(ref)];
  ReadyQueues::Entry entry;
  entry.request = request_of(ref);
  entry.item = lane_of(ref);
  entry.type = spec(ref).type;
  entry.place = live.home == kNoWorker ? queues_.any() : live.home;
  entry.priority = live.request.priority;
  entry.ready = ready;
  entry.since = now_;
  LaneRun& run = lane(ref);
  run.state = LaneRun::State::kQueued;
  run.entry = front ? queues_.push_front(entry) : queues_.push_back(entry);
}

RowBinding Scheduler::Core::bind(LaneRef ref) const {
  const LiveRequest& live = requests_[request_of(ref)];
  const LaneSpec& lane_spec = spec(ref);
  const LaneRun& run = live.lanes[lane_of(ref)];
  RowBinding row;
  for (const LaneEdge& edge : lane_spec.edges) {
    const LaneRun& from = live.lanes[edge.from];
    if (edge.all) {
      row.ragged = {from.base, from.length, false};
      continue;
    }
    StateSource& source = row.gathers[edge.gather];
    source = {from.base, from.ring, edge.offset, edge.stride, from.initial};
    if (edge.from_end) source.offset += static_cast<std::int32_t>(from.length) - 1;
    if (edge.before_first != LaneEdge::kNone) {
      const LaneRun& before = live.lanes[edge.before_first];
      source.initial = before.base + (before.length - 1) % before.ring;
    }
  }
  for (std::size_t i = 0; i < kMaxPulls; ++i) row.pulls[i] = live.request.inputs[lane_spec.pulls[i]];
  for (std::size_t i = 0; i < kMaxPushes; ++i) {
    const LanePush push = lane_spec.pushes[i];
    if (push.output != LanePush::kNowhere && push.every) row.pushes[i] = live.request.outputs[push.output];
  }
  row.out_base = run.base;
  row.out_ring = run.ring;
  row.length = run.length;
  return row;
}

// The lane's last real step is in this task, in `row`: its last-step results are written.
static void emit_last(const Request& request, const LaneSpec& spec, std::uint32_t row, Task& task) {
  for (std::uint32_t i = 0; i < kMaxPushes; ++i) {
    const LanePush push = spec.pushes[i];
    if (push.output == LanePush::kNowhere || push.every) continue;
    const DeviceAddress address = request.outputs[push.output].address;
    if (address != 0) task.emits.push_back({row, i, address});
  }
}

// ---- Cohorts: lanes that read their own last step ----

bool Scheduler::Core::form_cohort(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  Cohort& cohort = workers_[worker].cohorts[choice.type];
  const TypeConfig& type = config_.types[choice.type];
  const std::uint32_t ready = std::min(choice.rows, this->ready(choice.type, worker));
  if (ready == 0) return false;
  seat_joiners(worker, choice.type, choose_batch_size(type, ready).rows, task);
  const BatchSize size = choose_batch_size(type, std::min(choice.rows, cohort.active()));
  for (std::size_t row = cohort.rows().size(); cohort.active() > size.rows && row-- > 0;) {
    if (cohort.rows()[row] != kNoLane) park(cohort.rows()[row], true);
  }
  cohort.compact(task.changes, [this](LaneRef ref, std::uint32_t row) { lane(ref).row = row; });
  totals_.rows_moved += task.changes.size();
  task.form = Task::Form::kCohort;
  task.cohort = choice.type;
  task.step = cohort.step();
  task.rows = size.rows;
  task.padded_rows = size.padded;
  totals_.cells += task.rows - cohort.padding_lanes;
  cohort.last_seq = record.seq;
  cohort.last_formed = now_;
  if (cohort.reported > 0) report_steps(cohort, record);
  cohort.advance();
  look_at_due(worker, task, record);
  return true;
}

void Scheduler::Core::seat_joiners(WorkerId worker, CellTypeId type, std::uint32_t capacity, Task& task) {
  Cohort& cohort = workers_[worker].cohorts[type];
  for (EntryId id; (id = queues_.first(type, worker)) != kNoEntry;) {
    const ReadyQueues::Entry entry = queues_[id];
    if (cohort.active() >= capacity && !evict_for(worker, type, entry.priority)) return;
    const LaneRef ref = lane_ref(entry.request, static_cast<LaneId>(entry.item));
    LaneRun& run = lane(ref);
    queues_.erase(id);
    run.entry = kNoEntry;
    claim(entry.request, worker);
    run.start = cohort.step() - run.cursor;
    run.row = cohort.join(ref, entry.priority);
    run.state = LaneRun::State::kCohort;
    run.event_step = 0;
    ++requests_[entry.request].cohort_rows;
    ++workers_[worker].cohort_rows;
    if (run.reported) ++cohort.reported;
    run.padded = run.cursor >= run.length;
    if (run.padded) ++cohort.padding_lanes;
    task.changes.push_back({run.row, RowChange::kBind, static_cast<std::uint32_t>(task.bindings.size())});
    task.bindings.push_back(bind(ref));
    task.bindings.back().start = run.start;
    note_next_event(ref, cohort);
  }
}

// Makes room for a lane of a higher class: the latest arrival of the lowest class steps aside.
bool Scheduler::Core::evict_for(WorkerId worker, CellTypeId type, PriorityClass priority) {
  const Cohort& cohort = workers_[worker].cohorts[type];
  std::size_t lowest = kPriorityClasses - 1;
  while (lowest > static_cast<std::size_t>(priority) && cohort.active(PriorityClass(lowest)) == 0) --lowest;
  if (lowest <= static_cast<std::size_t>(priority)) return false;
  LaneRef victim = kNoLane;
  for (LaneRef ref : cohort.rows()) {
    if (ref == kNoLane) continue;
    const Request& request = requests_[request_of(ref)].request;
    if (static_cast<std::size_t>(request.priority) != lowest) continue;
    if (victim == kNoLane || request.arrival > requests_[request_of(victim)].request.arrival) victim = ref;
  }
  park(victim, true);
  return true;
}

// Takes a ready lane out of its cohort and back into its worker's queue.
void Scheduler::Core::park(LaneRef ref, bool front) {
  leave_cohort(ref);
  enqueue_lane(ref, 1, front);
}

void Scheduler::Core::leave_cohort(LaneRef ref) {
  LiveRequest& live = requests_[request_of(ref)];
  LaneRun& run = lane(ref);
  Worker& worker = workers_[live.home];
  Cohort& cohort = cohort_of(ref);
  run.cursor = cursor(ref);
  run.state = LaneRun::State::kBlocked;
  cohort.leave(run.row, live.request.priority);
  if (run.reported) --cohort.reported;
  if (run.padded) --cohort.padding_lanes;
  run.padded = false;
  --live.cohort_rows;
  --worker.cohort_rows;
  if (cohort.last_seq > worker.log.completed()) {
    touch(request_of(ref), worker.log.at(cohort.last_seq), 0);
  }
}

void Scheduler::Core::note_next_event(LaneRef ref, Cohort& cohort) {
  LaneRun& run = lane(ref);
  const std::uint32_t done = cursor(ref);
  std::uint32_t next = std::min(bound(ref, 1).allowed, run.run_length);
  if (done < run.length) next = std::min(next, run.length);
  if (run.wake_at > done) next = std::min(next, run.wake_at);
  run.event_step = cohort.note(ref, run.start + next - 1);
}

void Scheduler::Core::look_at_due(WorkerId worker, Task& task, TaskRecord& record) {
  Cohort& cohort = workers_[worker].cohorts[task.type];
  const std::uint64_t formed = cohort.step() - 1;
  cohort.take_due(formed, due_);
  moved_on_.clear();
  for (LaneRef ref : due_) {
    const LiveRequest& live = requests_[request_of(ref)];
    if (live.is_graph || lane_of(ref) >= live.lanes.size() || live.home != worker) continue;
    const LaneRun& run = lane(ref);
    if (run.state != LaneRun::State::kCohort || run.event_step != formed || spec(ref).type != task.type)
      continue;
    if (look_at(ref, task, record)) moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) wake_others(request_of(ref));
}

// Returns whether lanes of the same request, or the lane itself, must look again.
bool Scheduler::Core::look_at(LaneRef ref, Task& task, TaskRecord& record) {
  LaneRun& run = lane(ref);
  Cohort& cohort = cohort_of(ref);
  const std::uint32_t done = cursor(ref);
  if (done == run.length) {
    emit_last(requests_[request_of(ref)].request, spec(ref), run.row, task);
    if (run.run_length > run.length) {
      run.padded = true;
      ++cohort.padding_lanes;
    }
  }
  bool wake = done >= run.wake_at;
  if (wake) run.wake_at = kNever;
  if (done >= run.run_length) {
    leave_cohort(ref);
    end_lane(ref, record);
    return requests_[request_of(ref)].lanes.size() > 1;
  }
  if (bound(ref, 1).allowed <= done) {
    leave_cohort(ref);
    return true;
  }
  note_next_event(ref, cohort);
  return wake;
}

void Scheduler::Core::end_lane(LaneRef ref, TaskRecord& record) {
  LaneRun& run = lane(ref);
  run.state = LaneRun::State::kEnded;
  run.wake_at = kNever;
  record.ended.push_back(ref);
}

void Scheduler::Core::report_steps(const Cohort& cohort, TaskRecord& record) {
  for (LaneRef ref : cohort.rows()) {
    if (ref != kNoLane && lane(ref).reported && !lane(ref).padded) {
      record.steps.push_back({request_of(ref), lane_of(ref), cursor(ref)});
    }
  }
}

// ---- Spans: lanes whose steps do not read each other ----

bool Scheduler::Core::form_spans(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const std::uint32_t ready = std::min(choice.rows, this->ready(choice.type, worker));
  const BatchSize size = choose_batch_size(type, ready);
  moved_on_.clear();
  for (EntryId id; task.rows < size.rows && (id = queues_.first(choice.type, worker)) != kNoEntry;) {
    const ReadyQueues::Entry& entry = queues_[id];
    const LaneRef ref = lane_ref(entry.request, static_cast<LaneId>(entry.item));
    take_span(ref, size.rows - task.rows, task, record);
    moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) {
    LaneRun& run = lane(ref);
    if (run.cursor >= run.wake_at || run.state == LaneRun::State::kEnded) run.wake_at = kNever;
    wake_others(request_of(ref));
  }
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  return task.rows > 0;
}

std::uint32_t Scheduler::Core::take_span(LaneRef ref, std::uint32_t room, Task& task, TaskRecord& record) {
  const std::uint32_t index = request_of(ref);
  LaneRun& run = lane(ref);
  claim(index, record.worker);
  const std::uint32_t allowed = bound(ref, 1).allowed;
  std::uint32_t span = std::min(room, allowed - run.cursor);
  // The last real step has a row of its own when its result is wanted: Emit names a row, not a step.
  const bool has_last = run.cursor < run.length && run.cursor + span >= run.length;
  const auto& pushes = spec(ref).pushes;
  const bool emits = std::any_of(pushes.begin(), pushes.end(), [](const LanePush& push) {
    return push.output != LanePush::kNowhere && !push.every;
  });
  if (has_last && emits) span = run.cursor + 1 == run.length ? 1 : run.length - 1 - run.cursor;
  if (has_last && emits && span == 1 && run.cursor + 1 == run.length) {
    emit_last(requests_[index].request, spec(ref), static_cast<std::uint32_t>(task.bindings.size()), task);
  }
  task.bindings.push_back(bind(ref));
  task.bindings.back().start = run.cursor;
  task.bindings.back().span = span;
  task.rows += span;
  totals_.cells += std::min(span, run.length - std::min(run.length, run.cursor));
  if (run.reported && run.cursor < run.length) {
    record.steps.push_back({index, lane_of(ref), std::min(run.cursor + span, run.length) - 1});
  }
  run.cursor += span;
  touch(index, record, 0);
  if (run.cursor >= run.run_length || allowed <= run.cursor) {
    queues_.erase(run.entry);
    run.entry = kNoEntry;
    run.state = LaneRun::State::kBlocked;
    if (run.cursor >= run.run_length) end_lane(ref, record);
  } else {
    queues_.set_ready(run.entry, allowed - run.cursor);
  }
  return span;
}

}  // namespace volvox
