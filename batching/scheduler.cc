#include "batching/scheduler.h"

#include <algorithm>
#include <utility>

#include "batching/cost.h"
#include "batching/first_rows.h"

namespace volvox {
namespace {

template <class Value>
void grow(std::vector<Value>& values, std::size_t size, const Value& filler) {
  if (values.size() < size) values.resize(size, filler);
}

Event::Kind kind_of(LiveRequest::Outcome outcome) {
  if (outcome == LiveRequest::Outcome::kCancelled) return Event::Kind::kCancelled;
  return outcome == LiveRequest::Outcome::kExpired ? Event::Kind::kExpired : Event::Kind::kFailed;
}

}  // namespace

Scheduler::Scheduler(SchedulerConfig config, std::unique_ptr<Policy> policy)
    : config_(std::move(config)),
      policy_(std::move(policy)),
      policy_watches_(policy_->watches_waiting()),
      slots_(config_.pools),
      rooms_(config_.max_overtake),
      lane_frontiers_(config_.types.size()),
      queues_(static_cast<std::uint32_t>(config_.types.size()), config_.workers),
      running_(config_.types.size(), 0),
      rows_(config_.types.size(), TaskRows::kUnknown),
      pins_(requests_, queues_, workers_, models_, rooms_),
      lanes_(config_, requests_, queues_, workers_, pins_, lane_frontiers_, totals_, now_),
      graphs_(config_, requests_, queues_, slots_, pins_, rows_, totals_, now_),
      frontier_(queues_, workers_, running_, lane_frontiers_, models_),
      balance_(config_, requests_, queues_, workers_, pins_, lanes_, frontier_) {
  for (WorkerId w = 0; w < config_.workers; ++w) {
    workers_.emplace_back(w, config_.max_tasks_to_submit + 2, config_.types.size());
  }
  totals_.types.resize(config_.types.size());
  for (const ModelConfig& model : config_.models) learn(model);
  for (const TypeConfig& type : config_.types) {
    if (!has_model(type.model)) learn({.id = type.model});
  }
}

// ---- Models ----

void Scheduler::learn(const ModelConfig& model) {
  models_.add(model);
  rooms_.set_most(model.id, most_queued(config_, model.id));
}

Status Scheduler::add_model(const ModelParts& parts) {
  if (!make_way(parts)) {
    return volvox::fail(ErrorCode::kUnavailable, "a request of a model with the same numbers is live");
  }
  make_room(parts);
  for (const TypeConfig& type : parts.types) {
    config_.types[type.id] = type;
    rows_[type.id] = TaskRows::kUnknown;
    totals_.types[type.id] = {};
    for (Worker& worker : workers_) worker.cohorts[type.id] = Cohort{};
  }
  for (const PoolConfig& pool : parts.pools) {
    config_.pools[pool.id] = pool;
    slots_.set(pool);
  }
  config_.models.push_back(parts.config);
  learn(parts.config);
  policy_->on_model_added(config_, parts.config.id);
  return {};
}

// Models whose numbers are wanted go, unless one of them lives.
bool Scheduler::make_way(const ModelParts& parts) {
  std::vector<ModelId> old{parts.config.id};
  for (const TypeConfig& type : parts.types) {
    if (type.id < config_.types.size()) old.push_back(config_.types[type.id].model);
  }
  if (std::any_of(old.begin(), old.end(), [this](ModelId id) { return models_.is_live(id); })) return false;
  for (const ModelId id : old) remove_model(id);
  return true;
}

void Scheduler::make_room(const ModelParts& parts) {
  std::size_t types = config_.types.size(), pools = config_.pools.size();
  for (const TypeConfig& type : parts.types) types = std::max<std::size_t>(types, type.id + 1);
  for (const PoolConfig& pool : parts.pools) pools = std::max<std::size_t>(pools, pool.id + 1);
  TypeConfig nobodys{.model = kNoModel};
  while (config_.types.size() < types) {
    nobodys.id = static_cast<CellTypeId>(config_.types.size());
    config_.types.push_back(nobodys);
  }
  while (config_.pools.size() < pools) {
    config_.pools.push_back({static_cast<PoolId>(config_.pools.size()), kReservedSlots});
    slots_.set(config_.pools.back());
  }
  grow(rows_, types, TaskRows::kUnknown);
  grow(running_, types, 0U);
  lane_frontiers_.grow(types);
  grow(totals_.types, types, {});
  queues_.grow(static_cast<std::uint32_t>(types));
  for (Worker& worker : workers_) grow(worker.cohorts, types, {});
}

bool Scheduler::remove_model(ModelId id) {
  if (!has_model(id)) return true;
  if (models_.is_live(id)) return false;
  for (TypeConfig& type : config_.types) {
    if (type.model == id) type.model = kNoModel;
  }
  std::erase_if(config_.models, [id](const ModelConfig& model) { return model.id == id; });
  models_.remove(id);
  return true;
}

// ---- Requests that come ----

AdmitResult Scheduler::admit(Request&& request, TimePoint now) {
  now_ = now;
  if (!has_model(request.model)) return {AdmitResult::Kind::kNeverFits, {}, "its model is not known"};
  if (auto reason = why_never(request, slots_, config_.types, rows_)) {
    return {AdmitResult::Kind::kNeverFits, {}, std::move(*reason)};
  }
  ModelLoads::Load& load = models_[request.model];
  if (load.max_waiting > 0 && load.waiting >= load.max_waiting) {
    return {AdmitResult::Kind::kFull, {}, "max_waiting requests of this model wait already; try again later"};
  }
  if (requests_.live() >= config_.max_live) {
    return {AdmitResult::Kind::kFull, {}, "the scheduler holds max_live requests; try again later"};
  }
  ++load.live;
  ++load.waiting;
  const std::uint32_t index = requests_.add(std::move(request));
  set_clocks(index);
  start_waiting(index);
  admit_waiting();
  const bool waits = requests_[index].state == LiveRequest::State::kWaiting;
  return {waits ? AdmitResult::Kind::kWaiting : AdmitResult::Kind::kAdmitted, requests_.id(index), {}};
}

void Scheduler::set_clocks(std::uint32_t index) {
  const Request& request = requests_[index].request;
  const RequestId id = requests_.id(index);
  const auto goes_on = [this](RequestId other) { return requests_.goes_on(other); };
  if (request.deadline != TimePoint::max()) deadlines_.add(request.deadline, id, requests_.live(), goes_on);
  if (config_.age > Duration::zero() && request.priority != PriorityClass::kHigh) {
    ageing_.add(now_ + config_.age, id, requests_.live(), goes_on);
  }
}

// Who waits for its inputs takes no memory and nobody's turn.
void Scheduler::start_waiting(std::uint32_t index) {
  if (!requests_[index].landed) return;
  const Request& request = requests_[index].request;
  rooms_.push({index, request.model, request.priority, request.client, request.cells(),
               first_rows(request, config_.types)});
  if (policy_watches_) policy_->on_waiting(describe(index));
}

void Scheduler::stop_waiting(std::uint32_t index) {
  if (!requests_[index].landed) return;
  rooms_.remove(index);
  if (policy_watches_) policy_->on_left(describe(index));
}

void Scheduler::admit_waiting() {
  if (rooms_.size() > 0) policy_->admit(*this, frontier_, kNoWorker);
}

std::size_t Scheduler::admit_in_order() {
  const auto let_in = [this](std::uint32_t index) {
    if (!slots_.reserve(requests_[index], {})) return false;
    if (policy_watches_) policy_->on_left(describe(index));
    enter(index);
    return true;
  };
  return rooms_.admit(let_in, [this](std::uint32_t soon) { prefetch(requests_[soon]); });
}

std::size_t Scheduler::admit_group(const std::vector<RequestId>& ids, WorkerId worker,
                                   const Lengths& pad_to) {
  std::size_t entered = 0;
  bool anybody_in = requests_.live() > rooms_.size();
  for (RequestId id : ids) {
    LiveRequest* live = requests_.find(id);
    if (live == nullptr || live->state != LiveRequest::State::kWaiting) continue;
    if (!slots_.reserve(*live, pad_to) && (anybody_in || !slots_.reserve(*live, {}))) break;
    anybody_in = true;
    stop_waiting(id.index);
    rooms_.came_in(id.index);
    live->fixed = worker != kNoWorker;
    live->home = worker;
    enter(id.index);
    ++entered;
  }
  return entered;
}

inline void Scheduler::enter(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  live.state = LiveRequest::State::kRunning;
  live.burst = models_[live.request.model].enter(live.request.report_steps);
  if (live.is_graph) return graphs_.enter(index);
  live.open = static_cast<std::uint32_t>(live.lanes.size());
  slots_.hold(live);
  for (const LaneSpec& spec : live.request.plan->lanes) rows_[spec.type] = TaskRows::kLanes;
  lanes_.enter(index);
}

void Scheduler::inputs_landed(RequestId id, TimePoint now) {
  now_ = now;
  LiveRequest* live = requests_.find(id);
  if (live == nullptr || live->landed) return;
  live->landed = true;
  start_waiting(id.index);
  admit_waiting();
}

WaitingRequest Scheduler::describe(std::uint32_t index) const {
  const Request& request = requests_[index].request;
  return {requests_.id(index), request.model, request.priority, request.length(), request.arrival};
}

// ---- Tasks ----

void Scheduler::schedule(WorkerId worker, TimePoint now, std::vector<BatchedTask>& out) {
  now_ = now;
  if (workers_[worker].suspended) return;
  grow_older();
  // A choice may turn out empty when what is left waits for slots: each such try takes it off the counts. The
  // bound also holds against a policy that will not choose.
  std::size_t empty_tries = 0;
  while (has_room(workers_[worker]) && empty_tries <= config_.types.size()) {
    policy_->admit(*this, frontier_, worker);
    const auto choice = policy_->choose(frontier_, worker, now);
    if (choice && frontier_.ready(choice->type, worker) > 0) {
      if (!form(worker, *choice, out)) ++empty_tries;
    } else if (workers_[worker].log.in_flight() > 0 || !balance_.help(worker)) {
      return;
    } else {
      ++empty_tries;
    }
  }
}

bool Scheduler::has_room(const Worker& worker) const {
  const std::uint32_t ahead = worker.log.in_flight();
  if (ahead >= config_.max_tasks_to_submit) return false;
  if (ahead < 2 || config_.max_ahead == Duration::zero()) return true;
  return worker.log.ahead_us() * 1000.0 < static_cast<double>(config_.max_ahead.count());
}

bool Scheduler::form(WorkerId worker, Choice choice, std::vector<BatchedTask>& out) {
  TaskLog& log = workers_[worker].log;
  const TypeConfig& type = config_.types[choice.type];
  choice.rows = std::min(choice.rows, max_batch(type, config_.worker_batches, worker));
  BatchedTask task = take_task();
  TaskRecord& record = log.begin(choice.type);
  task->seq = record.seq;
  task->type = choice.type;
  const bool formed = rows_[choice.type] == TaskRows::kNodes ? graphs_.form(worker, choice, *task, record)
                                                             : lanes_.form(worker, choice, *task, record);
  if (!formed) {
    log.abandon();
    recycle(std::move(task));
    return false;
  }
  const double cost_us = task_cost_us(type, task->padded_rows);
  log.commit(cost_us);
  ++running_[choice.type];
  ++totals_.tasks;
  totals_.rows_executed += task->padded_rows;
  SchedulerStats::PerType& per_type = totals_.types[choice.type];
  ++per_type.tasks;
  per_type.rows += task->rows;
  per_type.padding += task->padded_rows - task->rows;
  models_[type.model].device_us += cost_us;
  models_[type.model].task_since = true;
  policy_->on_submitted(worker, choice.type, task->rows, cost_us);
  out.push_back(std::move(task));
  return true;
}

BatchedTask Scheduler::take_task() {
  if (spare_tasks_.empty()) return std::make_unique<Task>();
  BatchedTask task = std::move(spare_tasks_.back());
  spare_tasks_.pop_back();
  return task;
}

void Scheduler::recycle(BatchedTask task) {
  if (task == nullptr) return;
  task->clear();
  spare_tasks_.push_back(std::move(task));
}

void Scheduler::complete(WorkerId worker, TaskSeq up_to, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  workers_[worker].suspended = false;
  TaskLog& log = workers_[worker].log;
  while (log.completed() < std::min(up_to, log.submitted())) {
    log.finish_oldest();
    finish_task(log.at(log.completed()), out);
  }
  admit_waiting();
}

void Scheduler::finish_task(const TaskRecord& record, std::vector<Event>& out) {
  --running_[record.type];
  for (LaneRef ref : record.ended) --requests_[request_of(ref)].open;
  const auto& all = record.touched;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 4 < all.size()) prefetch_state(requests_[all[i + 4].request]);
    requests_[all[i].request].open -= all[i].nodes;
  }
  for (const TaskRecord::Mark& mark : record.steps) {
    const LiveRequest& live = requests_[mark.request];
    if (live.outcome != LiveRequest::Outcome::kNone || mark.step >= live.lanes[mark.lane].length) continue;
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
  for (const TaskRecord::Touched& touched : all) settle(touched.request, out);
}

std::uint32_t Scheduler::in_flight() const {
  std::uint32_t total = 0;
  for (const Worker& worker : workers_) total += worker.log.in_flight();
  return total;
}

// Those with a row in a task of the worker from `from` on, each once.
std::vector<std::uint32_t> Scheduler::requests_in(WorkerId worker, TaskSeq from) const {
  const Worker& of = workers_[worker];
  std::vector<std::uint32_t> found;
  for (const Cohort& cohort : of.cohorts) {
    if (cohort.last_seq < from) continue;
    for (LaneRef ref : cohort.rows()) {
      if (ref != kNoLane) found.push_back(request_of(ref));
    }
  }
  for (TaskSeq seq = from; seq <= of.log.submitted(); ++seq) {
    for (const TaskRecord::Touched& touched : of.log.at(seq).touched) found.push_back(touched.request);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Scheduler::fail(WorkerId worker, TaskSeq first_bad, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  Worker& broken = workers_[worker];
  broken.suspended = false;
  const std::vector<std::uint32_t> failed = requests_in(worker, first_bad);
  for (std::uint32_t index : failed) {
    LiveRequest& live = requests_[index];
    if (live.state != LiveRequest::State::kRunning) continue;
    if (live.outcome == LiveRequest::Outcome::kNone) live.outcome = LiveRequest::Outcome::kFailed;
    withdraw(index);
  }
  lanes_.empty_cohorts(broken);
  while (broken.log.in_flight() > 0) {
    broken.log.finish_oldest();
    --running_[broken.log.at(broken.log.completed()).type];
  }
  for (std::uint32_t index : failed) settle(index, out);
  admit_waiting();
}

// Whatever the task that does not end may still read or write stays as it is: the requests with a row in
// flight are as good as failed, but keep their slots until the worker says how its tasks ended. All others
// leave, for another worker or to wait.
void Scheduler::suspend(WorkerId worker, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  Worker& stuck = workers_[worker];
  if (stuck.suspended || stuck.log.in_flight() == 0) return;
  stuck.suspended = true;
  for (std::uint32_t index : requests_in(worker, stuck.log.completed() + 1)) {
    LiveRequest& live = requests_[index];
    if (live.state != LiveRequest::State::kRunning || live.outcome == LiveRequest::Outcome::kFailed) continue;
    // One that was cancelled before will not end either: whoever waits for that is told, too.
    const auto before = std::exchange(live.outcome, LiveRequest::Outcome::kFailed);
    out.push_back(event_for(index, Event::Kind::kStuck));
    if (before == LiveRequest::Outcome::kNone) withdraw(index);
  }
  lanes_.empty_cohorts(stuck);
  for (std::uint32_t index = 0; index < requests_.size(); ++index) {
    LiveRequest& live = requests_[index];
    const bool here = live.state == LiveRequest::State::kRunning && live.home == worker && !live.fixed;
    if (!here || live.outcome != LiveRequest::Outcome::kNone) continue;
    live.draining = false;
    pins_.move(index, kNoWorker);
    if (!live.is_graph) lanes_.wake(index);
  }
}

// ---- Requests that end ----

// A task with a row of the request is done, or the request was withdrawn: is it over, or at least free to
// move?
void Scheduler::settle(std::uint32_t index, std::vector<Event>& out) {
  const LiveRequest& live = requests_[index];
  if (live.state != LiveRequest::State::kRunning || pins_.in_flight(live)) return;
  if (live.outcome != LiveRequest::Outcome::kNone) return finalise(index, kind_of(live.outcome), out);
  if (live.open == 0) return finalise(index, Event::Kind::kDone, out);
  lanes_.leave_home(index);
}

// Takes everything of the request out of cohorts and queues; what is in flight runs out.
void Scheduler::withdraw(std::uint32_t index) {
  requests_[index].is_graph ? graphs_.withdraw(index) : lanes_.withdraw(index);
}

void Scheduler::end_early(RequestId id, LiveRequest::Outcome outcome, std::vector<Event>& out) {
  LiveRequest* live = requests_.find(id);
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

void Scheduler::finalise(std::uint32_t index, Event::Kind kind, std::vector<Event>& out) {
  out.push_back(event_for(index, kind));
  totals_.requests_done += kind == Event::Kind::kDone ? 1 : 0;
  totals_.requests_failed += kind == Event::Kind::kFailed ? 1 : 0;
  totals_.requests_cancelled += kind == Event::Kind::kCancelled ? 1 : 0;
  totals_.requests_expired += kind == Event::Kind::kExpired ? 1 : 0;
  LiveRequest& live = requests_[index];
  if (live.state == LiveRequest::State::kRunning) {
    slots_.release(live);
    slots_.are_shared() ? rooms_.reopen_all() : rooms_.reopen(live.request.model);
  }
  ModelLoads::Load& load = models_[live.request.model];
  --load.live;
  if (live.state == LiveRequest::State::kRunning) load.leave(live.burst, live.request.report_steps);
  if (!live.started) {
    --load.waiting;
    if (live.state == LiveRequest::State::kRunning) rooms_.moved_on(index);
  }
  requests_.remove(index);
}

Event Scheduler::event_for(std::uint32_t index, Event::Kind kind) const {
  const LiveRequest& live = requests_[index];
  Event event;
  event.kind = kind;
  event.id = requests_.id(index);
  event.tag = live.request.tag;
  event.first_submit = live.first_submit;
  return event;
}

void Scheduler::cancel(RequestId id, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  end_early(id, LiveRequest::Outcome::kCancelled, out);
  admit_waiting();
}

void Scheduler::stop(RequestId id, LaneId lane, Step last, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  const LiveRequest* live = requests_.find(id);
  if (live == nullptr || live->is_graph || lane >= live->lanes.size()) return;
  if (live->state != LiveRequest::State::kRunning || live->outcome != LiveRequest::Outcome::kNone) return;
  if (!lanes_.stop(id.index, lane, last)) return;
  settle(id.index, out);
  admit_waiting();
}

Status Scheduler::extend(RequestId id, GraphDelta delta, TimePoint now) {
  now_ = now;
  const LiveRequest* live = requests_.find(id);
  if (live == nullptr || !live->is_graph || live->outcome != LiveRequest::Outcome::kNone) {
    return invalid("the request is not there, is over, or is no graph");
  }
  const bool told = policy_watches_ && live->state == LiveRequest::State::kWaiting && live->landed;
  if (told) policy_->on_left(describe(id.index));
  Status grown = graphs_.extend(id.index, std::move(delta));
  if (told) policy_->on_waiting(describe(id.index));
  return grown;
}

// ---- Time ----

void Scheduler::expire(TimePoint now, std::vector<Event>& out) {
  now_ = now;
  const std::size_t before = out.size();
  deadlines_.take_due(
      now, [this](RequestId id) { return requests_.goes_on(id); },
      [&](RequestId id) { end_early(id, LiveRequest::Outcome::kExpired, out); });
  if (out.size() > before) admit_waiting();
}

void Scheduler::grow_older() {
  if (config_.age == Duration::zero()) return;
  const auto goes_on = [this](RequestId id) { return requests_.goes_on(id); };
  ageing_.take_due(now_, goes_on, [&](RequestId id) {
    raise(id.index);
    if (requests_[id.index].request.priority == PriorityClass::kHigh) return;
    ageing_.add(now_ + config_.age, id, requests_.live(), goes_on);
  });
}

// Lets the request compete one class higher, wherever it is.
void Scheduler::raise(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  const PriorityClass old = live.request.priority;
  const auto higher = static_cast<PriorityClass>(static_cast<std::uint8_t>(old) - 1);
  if (live.state == LiveRequest::State::kWaiting) {
    live.request.priority = higher;
    if (live.landed) rooms_.change_class(index, live.request.client, higher);
    return;
  }
  live.request.priority = higher;
  if (!live.started) rooms_.change_class_inside(index, higher);
  live.is_graph ? graphs_.change_class(index, higher) : lanes_.change_class(index, old, higher);
}

std::optional<TimePoint> Scheduler::next_wakeup() const {
  const auto policy = policy_->next_wakeup();
  const auto deadline = deadlines_.next();
  if (!policy || !deadline) return policy ? policy : deadline;
  return std::min(*policy, *deadline);
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = totals_;
  stats.rows_padding = stats.rows_executed - stats.cells;
  stats.live_requests = requests_.live();
  stats.waiting_requests = static_cast<std::uint32_t>(rooms_.size());
  stats.waiting_clients = static_cast<std::uint32_t>(rooms_.clients());
  for (CellTypeId t = 0; t < config_.types.size(); ++t) {
    SchedulerStats::PerType& type = stats.types[t];
    type.id = t;
    type.running = running_[t];
    type.ready = queues_.count(t, queues_.any());
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      type.ready += queues_.count(t, w) + workers_[w].cohorts[t].active();
    }
  }
  slots_.describe(stats.pools);
  models_.describe(stats.models);
  return stats;
}

}  // namespace volvox
