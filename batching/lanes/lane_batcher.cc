#include "batching/lanes/lane_batcher.h"

#include <algorithm>

#include "batching/cost.h"

namespace volvox {
namespace {

// The lane's last real step is in this task, in `row`: its last-step results are written.
void emit_last(const Request& request, const LaneSpec& spec, std::uint32_t row, Task& task) {
  for (std::uint32_t i = 0; i < kMaxPushes; ++i) {
    const LanePush push = spec.pushes[i];
    if (push.output == LanePush::kNowhere || push.every) continue;
    const DeviceAddress address = request.outputs[push.output].address;
    if (address != 0) task.emits.push_back({row, i, address});
  }
}

// Where the lane's step 0 reads or writes, and which way it goes.
template <class Rows>
Rows along(const LaneSpec& spec, const LaneRun& run, Rows rows) {
  if (!spec.reversed || rows.address == 0) return rows;
  rows.address += static_cast<DeviceAddress>(std::int64_t{rows.stride_bytes} * (run.length - 1));
  rows.stride_bytes = -rows.stride_bytes;
  return rows;
}

bool emits_last(const LaneSpec& spec) {
  return std::any_of(spec.pushes.begin(), spec.pushes.end(),
                     [](const LanePush& push) { return push.output != LanePush::kNowhere && !push.every; });
}

}  // namespace

// ---- Readiness ----

// Steps submitted.
inline std::uint32_t LaneBatcher::done(LaneRef ref) {
  const LaneRun& run = run_of(ref);
  if (run.state != LaneRun::State::kCohort) return run.cursor;
  return static_cast<std::uint32_t>(cohort_of(ref).step() - run.start);
}

inline LaneBound LaneBatcher::bound(LaneRef ref, std::uint32_t want) {
  const std::uint32_t index = request_of(ref);
  const LiveRequest& live = requests_[index];
  return lane_bound(*live.request.plan, lane_of(ref), want, [&](LaneId lane) {
    const LaneRun& run = live.lanes[lane];
    return LaneProgress{done(lane_ref(index, lane)), run.length, run.run_length, run.ring};
  });
}

// An eager lane that must wait for room in its window waits for half of it, so that it runs in few, large
// spans. One that follows another lane does so where its plan allows; elsewhere that lane may wait for this
// one's next step before it goes on.
std::uint32_t LaneBatcher::wanted_steps(LaneRef ref) {
  const LaneRun& run = run_of(ref);
  const auto& edges = spec(ref).edges;
  const auto follows = [](const LaneEdge& edge) { return !edge.all && edge.stride > 0; };
  if (!config_.types[spec(ref).type].independent) return 1;
  if (!spec(ref).may_wait && std::any_of(edges.begin(), edges.end(), follows)) return 1;
  return std::clamp(run.ring / 2, 1U, run.run_length - run.cursor);
}

// Queues the lane if it is ready, else has the lane that it waits for wake it.
void LaneBatcher::activate(LaneRef ref) {
  LaneRun& run = run_of(ref);
  if (run.state != LaneRun::State::kBlocked) return;
  const std::uint32_t want = wanted_steps(ref);
  const LaneBound bound = this->bound(ref, want);
  if (bound.allowed >= run.cursor + want) {
    const bool spans = config_.types[spec(ref).type].independent;
    enqueue(ref, spans ? bound.allowed - run.cursor : 1, false);
  } else {
    wake_at(lane_ref(request_of(ref), bound.blocker), bound.needed);
  }
}

// When the blocker has submitted so many steps, the blocked lanes of its request look again.
void LaneBatcher::wake_at(LaneRef blocker, std::uint32_t steps) {
  LaneRun& run = run_of(blocker);
  run.wake_at = std::min(run.wake_at, steps);
  if (run.state != LaneRun::State::kCohort) return;
  Cohort& cohort = cohort_of(blocker);
  const std::uint64_t at = run.start + steps - 1;
  if (at < run.event_step && at >= cohort.step()) run.event_step = cohort.note(blocker, at);
}

void LaneBatcher::wake(std::uint32_t request) {
  const LiveRequest& live = requests_[request];
  if (live.draining) return;
  const LaneId lanes = lane_count(live);
  for (LaneId l = 0; l < lanes; ++l) activate(lane_ref(request, l));
}

void LaneBatcher::enqueue(LaneRef ref, std::uint32_t ready, bool front) {
  const LiveRequest& live = requests_[request_of(ref)];
  ReadyQueues::Entry entry;
  entry.request = request_of(ref);
  entry.item = lane_of(ref);
  entry.type = spec(ref).type;
  entry.place = pins_.place(live);
  entry.priority = live.request.priority;
  entry.ready = ready;
  entry.since = now_;
  LaneRun& run = run_of(ref);
  run.state = LaneRun::State::kQueued;
  run.entry = front ? queues_.push_front(entry) : queues_.push_back(entry);
}

inline void LaneBatcher::dequeue(LaneRun& run) {
  queues_.erase(run.entry);
  run.entry = kNoEntry;
  run.state = LaneRun::State::kBlocked;
}

RowBinding LaneBatcher::bind(LaneRef ref) const {
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
  for (std::size_t i = 0; i < kMaxPulls; ++i) {
    row.pulls[i] = along(lane_spec, run, live.request.inputs[lane_spec.pulls[i]]);
  }
  for (std::size_t i = 0; i < kMaxPushes; ++i) {
    const LanePush push = lane_spec.pushes[i];
    if (push.output != LanePush::kNowhere && push.every)
      row.pushes[i] = along(lane_spec, run, live.request.outputs[push.output]);
  }
  row.out_base = run.base;
  row.out_ring = run.ring;
  row.length = run.length;
  return row;
}

bool LaneBatcher::form(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  return config_.types[choice.type].independent ? form_spans(worker, choice, task, record)
                                                : form_cohort(worker, choice, task, record);
}

// ---- Cohorts: lanes that read their own last step ----

bool LaneBatcher::form_cohort(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  Cohort& cohort = workers_[worker].cohorts[choice.type];
  const TypeConfig& type = config_.types[choice.type];
  const std::uint32_t ready = std::min(choice.rows, cohort.active() + queues_.count_for(choice.type, worker));
  if (ready == 0) return false;
  seat_joiners(worker, choice.type, choose_batch_size(type, ready).rows, task);
  const BatchSize size = choose_batch_size(type, std::min(choice.rows, cohort.active()));
  for (std::size_t row = cohort.rows().size(); cohort.active() > size.rows && row-- > 0;) {
    if (cohort.rows()[row] != kNoLane) park(cohort.rows()[row], true);
  }
  cohort.compact(task.changes, [this](LaneRef ref, std::uint32_t row) { run_of(ref).row = row; });
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

// A joiner's record was last touched when it came, thousands of requests ago.
[[gnu::always_inline]] inline void LaneBatcher::fetch_joiners(EntryId id) const {
  if ((id = queues_[id].next) == kNoEntry) return;
  prefetch_lanes(requests_[queues_[id].request]);
  if ((id = queues_[id].next) == kNoEntry) return;
  prefetch(requests_[queues_[id].request]);
  if ((id = queues_[id].next) != kNoEntry) __builtin_prefetch(&queues_[id]);
}

void LaneBatcher::seat_joiners(WorkerId worker, CellTypeId type, std::uint32_t capacity, Task& task) {
  Cohort& cohort = workers_[worker].cohorts[type];
  for (EntryId id; (id = queues_.first(type, worker)) != kNoEntry;) {
    const ReadyQueues::Entry& entry = queues_[id];
    const LaneRef ref = lane_ref(entry.request, static_cast<LaneId>(entry.item));
    const PriorityClass priority = entry.priority;
    if (cohort.active() >= capacity && !evict_for(worker, type, priority)) return;
    fetch_joiners(id);
    dequeue(run_of(ref));
    seat(ref, worker, cohort, priority, task);
  }
}

void LaneBatcher::seat(LaneRef ref, WorkerId worker, Cohort& cohort, PriorityClass priority, Task& task) {
  pins_.claim(request_of(ref), worker, now_);
  LaneRun& run = run_of(ref);
  run.start = cohort.step() - run.cursor;
  run.row = workers_[worker].join(spec(ref).type, ref, priority);
  run.state = LaneRun::State::kCohort;
  run.event_step = 0;
  ++requests_[request_of(ref)].cohort_rows;
  if (run.reported) ++cohort.reported;
  run.padded = run.cursor >= run.length;
  if (run.padded) ++cohort.padding_lanes;
  task.changes.push_back({run.row, RowChange::kBind, static_cast<std::uint32_t>(task.bindings.size())});
  task.bindings.push_back(bind(ref));
  task.bindings.back().start = run.start;
  note_next_event(ref, cohort);
}

// Makes room for a lane of a higher class: the latest arrival of the lowest class steps aside.
bool LaneBatcher::evict_for(WorkerId worker, CellTypeId type, PriorityClass priority) {
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
void LaneBatcher::park(LaneRef ref, bool front) {
  leave_cohort(ref);
  enqueue(ref, 1, front);
}

void LaneBatcher::leave_cohort(LaneRef ref) {
  LiveRequest& live = requests_[request_of(ref)];
  LaneRun& run = run_of(ref);
  Worker& worker = workers_[live.home];
  Cohort& cohort = cohort_of(ref);
  run.cursor = done(ref);
  run.state = LaneRun::State::kBlocked;
  worker.leave(spec(ref).type, run.row, live.request.priority);
  if (run.reported) --cohort.reported;
  if (run.padded) --cohort.padding_lanes;
  run.padded = false;
  --live.cohort_rows;
  if (cohort.last_seq > worker.log.completed()) {
    pins_.touch(request_of(ref), worker.log.at(cohort.last_seq), 0);
  }
}

void LaneBatcher::note_next_event(LaneRef ref, Cohort& cohort) {
  LaneRun& run = run_of(ref);
  const std::uint32_t done = this->done(ref);
  std::uint32_t next = std::min(bound(ref, 1).allowed, run.run_length);
  if (done < run.length) next = std::min(next, run.length);
  if (run.wake_at > done) next = std::min(next, run.wake_at);
  run.event_step = cohort.note(ref, run.start + next - 1);
}

void LaneBatcher::look_at_due(WorkerId worker, Task& task, TaskRecord& record) {
  Cohort& cohort = workers_[worker].cohorts[task.type];
  const std::uint64_t formed = cohort.step() - 1;
  cohort.take_due(formed, due_);
  moved_on_.clear();
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (i + 4 < due_.size()) prefetch(requests_[request_of(due_[i + 4])]);
    if (i + 2 < due_.size()) prefetch_lanes(requests_[request_of(due_[i + 2])]);
    const LaneRef ref = due_[i];
    const LiveRequest& live = requests_[request_of(ref)];
    if (live.is_graph || lane_of(ref) >= live.lanes.size() || live.home != worker) continue;
    const LaneRun& run = run_of(ref);
    if (run.state != LaneRun::State::kCohort || run.event_step != formed || spec(ref).type != task.type)
      continue;
    if (look_at(ref, task, record)) moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) wake(request_of(ref));
}

// Returns whether lanes of the same request, or the lane itself, must look again.
bool LaneBatcher::look_at(LaneRef ref, Task& task, TaskRecord& record) {
  LaneRun& run = run_of(ref);
  Cohort& cohort = cohort_of(ref);
  const std::uint32_t done = this->done(ref);
  if (done == run.length) {
    emit_last(requests_[request_of(ref)].request, spec(ref), run.row, task);
    if (run.run_length > run.length) {
      run.padded = true;
      ++cohort.padding_lanes;
    }
  }
  bool others = done >= run.wake_at;
  if (others) run.wake_at = kNever;
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
  return others;
}

void LaneBatcher::end_lane(LaneRef ref, TaskRecord& record) {
  LaneRun& run = run_of(ref);
  run.state = LaneRun::State::kEnded;
  run.wake_at = kNever;
  record.ended.push_back(ref);
}

void LaneBatcher::report_steps(const Cohort& cohort, TaskRecord& record) {
  for (LaneRef ref : cohort.rows()) {
    if (ref != kNoLane && run_of(ref).reported && !run_of(ref).padded) {
      record.steps.push_back({request_of(ref), lane_of(ref), done(ref)});
    }
  }
}

// ---- Spans: lanes whose steps do not read each other ----

bool LaneBatcher::form_spans(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const BatchSize size =
      choose_batch_size(type, std::min(choice.rows, queues_.count_for(choice.type, worker)));
  moved_on_.clear();
  for (EntryId id; task.rows < size.rows && (id = queues_.first(choice.type, worker)) != kNoEntry;) {
    const ReadyQueues::Entry& entry = queues_[id];
    const LaneRef ref = lane_ref(entry.request, static_cast<LaneId>(entry.item));
    take_span(ref, size.rows - task.rows, task, record);
    moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) {
    LaneRun& run = run_of(ref);
    if (run.cursor >= run.wake_at || run.state == LaneRun::State::kEnded) run.wake_at = kNever;
    wake(request_of(ref));
  }
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  return task.rows > 0;
}

// How many of `at_most` steps the row `row` of the task covers. The last real step has a row of its own when
// its result is wanted: Emit names a row, not a step.
std::uint32_t LaneBatcher::span_of(LaneRef ref, std::uint32_t at_most, std::uint32_t row, Task& task) {
  const LaneRun& run = run_of(ref);
  const bool has_last = run.cursor < run.length && run.cursor + at_most >= run.length;
  if (!has_last || !emits_last(spec(ref))) return at_most;
  if (run.cursor + 1 < run.length) return run.length - 1 - run.cursor;
  emit_last(requests_[request_of(ref)].request, spec(ref), row, task);
  return 1;
}

void LaneBatcher::take_span(LaneRef ref, std::uint32_t room, Task& task, TaskRecord& record) {
  const std::uint32_t index = request_of(ref);
  LaneRun& run = run_of(ref);
  pins_.claim(index, record.worker, now_);
  const std::uint32_t allowed = bound(ref, 1).allowed;
  const auto row = static_cast<std::uint32_t>(task.bindings.size());
  const std::uint32_t span = span_of(ref, std::min(room, allowed - run.cursor), row, task);
  task.bindings.push_back(bind(ref));
  task.bindings.back().start = run.cursor;
  task.bindings.back().span = span;
  task.rows += span;
  totals_.cells += std::min(span, run.length - std::min(run.length, run.cursor));
  if (run.reported && run.cursor < run.length) {
    record.steps.push_back({index, lane_of(ref), std::min(run.cursor + span, run.length) - 1});
  }
  run.cursor += span;
  pins_.touch(index, record, 0);
  if (run.cursor < run.run_length && run.cursor < allowed) {
    queues_.set_ready(run.entry, allowed - run.cursor);
    return;
  }
  dequeue(run);
  if (run.cursor >= run.run_length) end_lane(ref, record);
}

// ---- What happens to requests ----

void LaneBatcher::withdraw(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  for (LaneId l = 0; l < lane_count(live); ++l) {
    LaneRun& run = live.lanes[l];
    if (run.state == LaneRun::State::kCohort) leave_cohort(lane_ref(request, l));
    if (run.state == LaneRun::State::kQueued) dequeue(run);
    run.state = LaneRun::State::kEnded;
  }
}

void LaneBatcher::drain(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  live.draining = true;
  for (LaneId l = 0; l < lane_count(live); ++l) {
    LaneRun& run = live.lanes[l];
    if (run.state == LaneRun::State::kCohort) leave_cohort(lane_ref(request, l));
    if (run.state == LaneRun::State::kQueued) dequeue(run);
  }
  if (!pins_.in_flight(live)) leave_home(request);
}

void LaneBatcher::leave_home(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  if (!live.draining) return;
  live.draining = false;
  pins_.move(request, kNoWorker);
  wake(request);
}

void LaneBatcher::empty_cohorts(Worker& worker) {
  for (Cohort& cohort : worker.cohorts) {
    const std::vector<LaneRef> rows = cohort.rows();
    for (LaneRef ref : rows) {
      if (ref != kNoLane) park(ref, false);
    }
  }
}

void LaneBatcher::change_class(std::uint32_t request, PriorityClass from, PriorityClass to) {
  LiveRequest& live = requests_[request];
  for (LaneId l = 0; l < lane_count(live); ++l) {
    const LaneRun& run = live.lanes[l];
    if (run.entry != kNoEntry) queues_.change_class(run.entry, to);
    if (run.state == LaneRun::State::kCohort) cohort_of(lane_ref(request, l)).change_class(from, to);
  }
}

bool LaneBatcher::stop(std::uint32_t request, LaneId l, Step last) {
  LiveRequest& live = requests_[request];
  LaneRun& run = live.lanes[l];
  if (run.state == LaneRun::State::kEnded || last + 1 >= run.run_length) return false;
  const LaneRef ref = lane_ref(request, l);
  run.run_length = last + 1;
  run.length = std::min(run.length, run.run_length);
  if (done(ref) < run.run_length) {
    if (run.state == LaneRun::State::kCohort) note_next_event(ref, cohort_of(ref));
    return false;
  }
  if (run.state == LaneRun::State::kCohort) leave_cohort(ref);
  if (run.state == LaneRun::State::kQueued) dequeue(run);
  run.state = LaneRun::State::kEnded;
  TaskLog* log = live.home == kNoWorker ? nullptr : &workers_[live.home].log;
  if (log != nullptr && live.last_seq > log->completed()) {
    log->at(live.last_seq).ended.push_back(ref);
  } else {
    --live.open;
  }
  wake(request);
  return true;
}

}  // namespace volvox
