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
inline std::uint32_t LaneBatcher::done(const Lane& lane) const {
  if (lane.run.state != LaneRun::State::kCohort) return lane.run.cursor;
  return static_cast<std::uint32_t>(cohort_of(lane).step() - lane.run.start);
}

// Predecessors that each of its steps lists: all steps of a lane that is over, so that they stay as many.
inline std::uint32_t LaneBatcher::listed(const Lane& lane) {
  for (const LaneEdge& edge : lane.spec.edges) {
    if (edge.all) return lane.live.lanes[edge.from].length;
  }
  return 0;
}

inline LaneBound LaneBatcher::bound(const Lane& lane, std::uint32_t want) {
  const LanePlan& plan = *lane.live.request.plan;
  if (plan.lanes.size() == 1) return {lane.run.run_length};  // it waits for nobody
  return lane_bound(plan, lane_of(lane.ref), want, [&](LaneId other) {
    const Lane of = at(lane_ref(request_of(lane.ref), other));
    return LaneProgress{done(of), of.run.length, of.run.run_length, of.run.ring};
  });
}

// An eager lane that must wait for room in its window waits for half of it, so that it runs in few, large
// spans. One that follows another lane does so where its plan allows; elsewhere that lane may wait for this
// one's next step before it goes on.
std::uint32_t LaneBatcher::wanted_steps(const Lane& lane) const {
  const auto& edges = lane.spec.edges;
  const auto follows = [](const LaneEdge& edge) { return !edge.all && edge.stride > 0; };
  if (!config_.types[lane.spec.type].independent) return 1;
  if (!lane.spec.may_wait && std::any_of(edges.begin(), edges.end(), follows)) return 1;
  const std::uint32_t ring = lane.spec.ring == 0 ? lane.run.ring : lane.spec.ring;  // padding may have more
  return std::clamp(ring / 2, 1U, lane.run.run_length - lane.run.cursor);
}

// Queues the lane if it is ready, else has the lane that it waits for wake it.
void LaneBatcher::activate(const Lane& lane) {
  if (lane.run.state != LaneRun::State::kBlocked) return;
  const std::uint32_t want = wanted_steps(lane);
  const LaneBound bound = this->bound(lane, want);
  if (bound.allowed >= lane.run.cursor + want) {
    const bool spans = config_.types[lane.spec.type].independent;
    enqueue(lane, spans ? bound.allowed - lane.run.cursor : 1, false);
  } else {
    wake_at(at(lane_ref(request_of(lane.ref), bound.blocker)), bound.needed);
  }
}

// When the blocker has submitted so many steps, the blocked lanes of its request look again.
void LaneBatcher::wake_at(const Lane& blocker, std::uint32_t steps) {
  LaneRun& run = blocker.run;
  run.wake_at = std::min(run.wake_at, steps);
  if (run.state != LaneRun::State::kCohort) return;
  Cohort& cohort = cohort_of(blocker);
  const std::uint64_t at = run.start + steps - 1;
  if (at < run.event_step && at >= cohort.step()) run.event_step = cohort.note(blocker.ref, at);
}

void LaneBatcher::enter(std::uint32_t request) {
  if (lane_count(requests_[request]) > 1) frontiers_.enter(requests_[request], config_.types);
  wake(request);
}

void LaneBatcher::wake(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  if (live.draining) return;
  const LaneId lanes = lane_count(live);
  for (LaneId l = 0; l < lanes; ++l) {
    activate({lane_ref(request, l), live, live.lanes[l], live.request.plan->lanes[l]});
  }
}

void LaneBatcher::enqueue(const Lane& lane, std::uint32_t ready, bool front) {
  const ReadyQueues::Entry entry{.request = request_of(lane.ref),
                                 .item = lane_of(lane.ref),
                                 .type = lane.spec.type,
                                 .place = pins_.place(lane.live),
                                 .priority = lane.live.request.priority,
                                 .ready = ready,
                                 .since = now_};
  lane.run.state = LaneRun::State::kQueued;
  lane.run.entry = front ? queues_.push_front(entry) : queues_.push_back(entry);
}

inline void LaneBatcher::dequeue(LaneRun& run) {
  queues_.erase(run.entry);
  run.entry = kNoEntry;
  run.state = LaneRun::State::kBlocked;
}

// The task's next binding is the lane's; where it starts, the caller adds.
RowBinding& LaneBatcher::bind(const Lane& lane, Task& task) {
  const auto& [ref, live, run, lane_spec] = lane;
  // Written where it stays: a row made elsewhere would be read again, in larger words, right after.
  RowBinding& row = task.bindings.emplace_back();
  for (const LaneEdge& edge : lane_spec.edges) {
    const LaneRun& from = live.lanes[edge.from];
    if (edge.all) {
      row.ragged = {from.base, from.length, false};
      continue;
    }
    StateSource& source = row.gathers[edge.gather];
    source = {from.base, from.ring, edge.offset, edge.stride, from.initial, from.step};
    if (edge.from_end) source.offset += static_cast<std::int32_t>(from.length) - 1;
    if (edge.before_first != LaneEdge::kNone) {
      const LaneRun& before = live.lanes[edge.before_first];
      source.initial = slot_in_turn(before.base, before.ring, before.step, before.length - 1);
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
  row.out_step = run.step;
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
  cohort.compact(task.changes, [this](LaneRef ref, std::uint32_t row) { at(ref).run.row = row; });
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
    const Lane lane = at(ref);
    const std::uint64_t edges = listed(lane), most = config_.types[type].max_edges;
    while (cohort.edges + edges > most) {
      if (!evict_for(worker, type, priority)) return;
    }
    dequeue(lane.run);
    seat(lane, worker, cohort, priority, task);
  }
}

void LaneBatcher::seat(const Lane& lane, WorkerId worker, Cohort& cohort, PriorityClass priority,
                       Task& task) {
  pins_.claim(request_of(lane.ref), worker, now_);
  LaneRun& run = lane.run;
  run.start = cohort.step() - run.cursor;
  run.row = workers_[worker].join(lane.spec.type, lane.ref, priority);
  run.state = LaneRun::State::kCohort;
  run.event_step = 0;
  ++lane.live.cohort_rows;
  cohort.edges += listed(lane);
  if (run.reported) ++cohort.reported;
  run.padded = run.cursor >= run.length;
  if (run.padded) ++cohort.padding_lanes;
  task.changes.push_back({run.row, RowChange::kBind, static_cast<std::uint32_t>(task.bindings.size())});
  bind(lane, task).start = run.start;
  note_next_event(lane, cohort);
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
  const Lane lane = at(ref);
  leave_cohort(lane);
  enqueue(lane, 1, front);
}

void LaneBatcher::leave_cohort(const Lane& lane) {
  const auto& [ref, live, run, lane_spec] = lane;
  Worker& worker = workers_[live.home];
  Cohort& cohort = worker.cohorts[lane_spec.type];
  run.cursor = static_cast<std::uint32_t>(cohort.step() - run.start);
  run.state = LaneRun::State::kBlocked;
  worker.leave(lane_spec.type, run.row, live.request.priority);
  cohort.edges -= listed(lane);
  if (run.reported) --cohort.reported;
  if (run.padded) --cohort.padding_lanes;
  run.padded = false;
  --live.cohort_rows;
  if (cohort.last_seq > worker.log.completed()) {
    pins_.touch(request_of(ref), worker.log.at(cohort.last_seq), 0);
  }
}

void LaneBatcher::note_next_event(const Lane& lane, Cohort& cohort) {
  LaneRun& run = lane.run;
  const auto done = static_cast<std::uint32_t>(cohort.step() - run.start);
  std::uint32_t next = std::min(bound(lane, 1).allowed, run.run_length);
  if (done < run.length) next = std::min(next, run.length);
  if (run.wake_at > done) next = std::min(next, run.wake_at);
  run.event_step = cohort.note(lane.ref, run.start + next - 1);
}

void LaneBatcher::look_at_due(WorkerId worker, Task& task, TaskRecord& record) {
  Cohort& cohort = workers_[worker].cohorts[task.type];
  const std::uint64_t formed = cohort.step() - 1;
  cohort.take_due(formed, due_);
  // Of lanes that have left, even numbers may be gone.
  std::erase_if(due_, [this](LaneRef ref) { return request_of(ref) >= requests_.size(); });
  moved_on_.clear();
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (i + 4 < due_.size()) prefetch(requests_[request_of(due_[i + 4])]);
    if (i + 2 < due_.size()) prefetch_lanes(requests_[request_of(due_[i + 2])]);
    const LaneRef ref = due_[i];
    const LiveRequest& live = requests_[request_of(ref)];
    if (live.state != LiveRequest::State::kRunning) continue;  // its plan may be gone
    if (live.is_graph || lane_of(ref) >= live.lanes.size() || live.home != worker) continue;
    const Lane lane = at(ref);
    if (lane.run.state != LaneRun::State::kCohort || lane.run.event_step != formed) continue;
    if (lane.spec.type == task.type && look_at(lane, cohort, task, record)) moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) wake(request_of(ref));
}

// Returns whether lanes of the same request, or the lane itself, must look again.
bool LaneBatcher::look_at(const Lane& lane, Cohort& cohort, Task& task, TaskRecord& record) {
  LaneRun& run = lane.run;
  const auto done = static_cast<std::uint32_t>(cohort.step() - run.start);
  if (done == run.length) {
    emit_last(lane.live.request, lane.spec, run.row, task);
    if (run.run_length > run.length) {
      run.padded = true;
      ++cohort.padding_lanes;
    }
  }
  bool others = done >= run.wake_at;
  if (others) run.wake_at = kNever;
  if (done >= run.run_length) {
    leave_cohort(lane);
    end_lane(lane, record);
    return lane.live.lanes.size() > 1;
  }
  if (bound(lane, 1).allowed <= done) {
    leave_cohort(lane);
    return true;
  }
  note_next_event(lane, cohort);
  return others;
}

inline void LaneBatcher::end_lane(const Lane& lane, TaskRecord& record) {
  lane.run.state = LaneRun::State::kEnded;
  lane.run.wake_at = kNever;
  if (lane_count(lane.live) > 1) frontiers_.end(config_.types[lane.spec.type]);
  record.ended.push_back(lane.ref);
}

void LaneBatcher::report_steps(const Cohort& cohort, TaskRecord& record) {
  for (LaneRef ref : cohort.rows()) {
    if (ref == kNoLane) continue;
    const Lane lane = at(ref);
    if (!lane.run.reported || lane.run.padded) continue;
    record.steps.push_back({request_of(ref), lane_of(ref), done(lane)});
  }
}

// ---- Spans: lanes whose steps do not read each other ----

// What a lane may take has grown with every step of the lanes that it follows since it was queued.
void LaneBatcher::count_anew(WorkerId worker, const Choice& choice) {
  std::uint32_t rows = 0;
  for (std::size_t c = 0; c < kPriorityClasses; ++c) {
    for (const WorkerId place : {worker, queues_.any()}) {
      for (EntryId id = queues_.first_at(choice.type, place, PriorityClass(c)); id != kNoEntry;
           id = queues_[id].next) {
        if (rows >= choice.rows) return;
        const Lane lane = at(lane_ref(queues_[id].request, static_cast<LaneId>(queues_[id].item)));
        queues_.set_ready(id, bound(lane, 1).allowed - lane.run.cursor);
        rows += queues_[id].ready;
      }
    }
  }
}

bool LaneBatcher::form_spans(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  count_anew(worker, choice);
  const BatchSize size =
      choose_batch_size(type, std::min(choice.rows, queues_.count_for(choice.type, worker)));
  std::uint32_t edges = 0;
  moved_on_.clear();
  for (EntryId id; task.rows < size.rows && (id = queues_.first(choice.type, worker)) != kNoEntry;) {
    const ReadyQueues::Entry& entry = queues_[id];
    const LaneRef ref = lane_ref(entry.request, static_cast<LaneId>(entry.item));
    const Lane lane = at(ref);
    const std::uint32_t before = task.rows, each = listed(lane);
    std::uint32_t room = size.rows - before;
    if (each > 0) room = std::min(room, (type.max_edges - edges) / each);
    if (room == 0) break;
    take_span(lane, room, task, record);
    edges += each * (task.rows - before);
    moved_on_.push_back(ref);
  }
  for (LaneRef ref : moved_on_) {
    LaneRun& run = at(ref).run;
    if (run.cursor >= run.wake_at || run.state == LaneRun::State::kEnded) run.wake_at = kNever;
    wake(request_of(ref));
  }
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  return task.rows > 0;
}

// How many of `at_most` steps the row `row` of the task covers. The last real step has a row of its own when
// its result is wanted: Emit names a row, not a step.
std::uint32_t LaneBatcher::span_of(const Lane& lane, std::uint32_t at_most, std::uint32_t row, Task& task) {
  const LaneRun& run = lane.run;
  const bool has_last = run.cursor < run.length && run.cursor + at_most >= run.length;
  if (!has_last || !emits_last(lane.spec)) return at_most;
  if (run.cursor + 1 < run.length) return run.length - 1 - run.cursor;
  emit_last(lane.live.request, lane.spec, row, task);
  return 1;
}

void LaneBatcher::take_span(const Lane& lane, std::uint32_t room, Task& task, TaskRecord& record) {
  const std::uint32_t index = request_of(lane.ref);
  LaneRun& run = lane.run;
  pins_.claim(index, record.worker, now_);
  const std::uint32_t allowed = bound(lane, 1).allowed;
  const auto row = static_cast<std::uint32_t>(task.bindings.size());
  const std::uint32_t span = span_of(lane, std::min(room, allowed - run.cursor), row, task);
  RowBinding& binding = bind(lane, task);
  binding.start = run.cursor;
  binding.span = span;
  task.rows += span;
  totals_.cells += std::min(span, run.length - std::min(run.length, run.cursor));
  if (run.reported && run.cursor < run.length) {
    record.steps.push_back({index, lane_of(lane.ref), std::min(run.cursor + span, run.length) - 1});
  }
  run.cursor += span;
  if (lane_count(lane.live) > 1) frontiers_.take(config_.types[lane.spec.type], span);
  pins_.touch(index, record, 0);
  if (run.cursor < run.run_length && run.cursor < allowed) {
    queues_.set_ready(run.entry, allowed - run.cursor);
    return;
  }
  dequeue(run);
  if (run.cursor >= run.run_length) end_lane(lane, record);
}

// ---- What happens to requests ----

void LaneBatcher::withdraw(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  if (lane_count(live) > 1) frontiers_.leave(live, config_.types);
  for (LaneId l = 0; l < lane_count(live); ++l) {
    LaneRun& run = live.lanes[l];
    if (run.state == LaneRun::State::kCohort) leave_cohort(at(lane_ref(request, l)));
    if (run.state == LaneRun::State::kQueued) dequeue(run);
    run.state = LaneRun::State::kEnded;
  }
}

void LaneBatcher::drain(std::uint32_t request) {
  LiveRequest& live = requests_[request];
  live.draining = true;
  for (LaneId l = 0; l < lane_count(live); ++l) {
    LaneRun& run = live.lanes[l];
    if (run.state == LaneRun::State::kCohort) leave_cohort(at(lane_ref(request, l)));
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
    if (run.state == LaneRun::State::kCohort) cohort_of(at(lane_ref(request, l))).change_class(from, to);
  }
}

bool LaneBatcher::stop(std::uint32_t request, LaneId l, Step last) {
  LiveRequest& live = requests_[request];
  LaneRun& run = live.lanes[l];
  const Lane lane = at(lane_ref(request, l));
  const bool submitted = done(lane) >= run.length;  // padding may still run
  if (run.state == LaneRun::State::kEnded || last + 1 >= run.length || submitted) return false;
  const TypeConfig& type = config_.types[lane.spec.type];
  const bool counts = lane_count(live) > 1;
  if (counts && type.independent) frontiers_.take(type, run.run_length - std::max(last + 1, run.cursor));
  run.run_length = last + 1;
  run.length = std::min(run.length, run.run_length);
  if (done(lane) < run.run_length) {
    if (run.state == LaneRun::State::kCohort) note_next_event(lane, cohort_of(lane));
    return false;
  }
  if (run.state == LaneRun::State::kCohort) leave_cohort(lane);
  if (run.state == LaneRun::State::kQueued) dequeue(run);
  run.state = LaneRun::State::kEnded;
  if (counts) frontiers_.end(type);
  TaskLog* log = live.home == kNoWorker ? nullptr : &workers_[live.home].log;
  if (log != nullptr && live.last_seq > log->completed()) {
    log->at(live.last_seq).ended.push_back(lane.ref);
  } else {
    --live.open;
  }
  wake(request);
  return true;
}

}  // namespace volvox
