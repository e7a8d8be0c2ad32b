#include <algorithm>
#include <utility>

#include "batching/core.h"
#include "batching/cost.h"

namespace volvox {

std::uint32_t Scheduler::Core::ready(CellTypeId type, WorkerId worker) const {
  return workers_[worker].cohorts[type].active() + queues_.count(type, worker) +
         queues_.count(type, queues_.any());
}

std::uint32_t Scheduler::Core::ready(CellTypeId type, WorkerId worker, PriorityClass priority) const {
  return workers_[worker].cohorts[type].active(priority) + queues_.count(type, worker, priority) +
         queues_.count(type, queues_.any(), priority);
}

std::optional<TimePoint> Scheduler::Core::waiting_since(CellTypeId type, WorkerId worker) const {
  std::optional<TimePoint> oldest;
  const Cohort& cohort = workers_[worker].cohorts[type];
  if (cohort.active() > 0) oldest = cohort.last_formed;
  for (WorkerId place : {worker, queues_.any()}) {
    for (std::size_t c = 0; c < kPriorityClasses; ++c) {
      const EntryId id = queues_.first_at(type, place, PriorityClass(c));
      if (id != kNoEntry && (!oldest || queues_[id].since < *oldest)) oldest = queues_[id].since;
    }
  }
  return oldest;
}

bool Scheduler::Core::anything_ready(WorkerId worker) const {
  return workers_[worker].cohort_rows > 0 || queues_.count_at(worker) > 0 ||
         queues_.count_at(queues_.any()) > 0;
}

bool Scheduler::Core::has_room(const Worker& worker) const {
  const std::uint32_t ahead = worker.log.in_flight();
  if (ahead >= config_.max_tasks_to_submit) return false;
  if (ahead < 2 || config_.max_ahead == Duration::zero()) return true;
  return worker.log.ahead_us() * 1000.0 < static_cast<double>(config_.max_ahead.count());
}

void Scheduler::Core::schedule(WorkerId worker, TimePoint now, std::vector<BatchedTask>& out) {
  now_ = now;
  if (workers_[worker].suspended) return;
  grow_older();
  // A choice may turn out empty when what is left waits for slots: each such try takes it off the counts. The
  // bound also holds against a policy that will not choose.
  std::size_t empty_tries = 0;
  while (has_room(workers_[worker]) && empty_tries <= config_.types.size()) {
    policy_->admit(*this, *this, worker);
    const auto choice = policy_->choose(*this, worker, now);
    if (choice && ready(choice->type, worker) > 0) {
      if (!form(worker, *choice, out)) ++empty_tries;
    } else if (workers_[worker].log.in_flight() > 0 || !balance(worker)) {
      return;
    } else {
      ++empty_tries;
    }
  }
}

BatchedTask Scheduler::Core::take_task() {
  if (spare_tasks_.empty()) return std::make_unique<Task>();
  BatchedTask task = std::move(spare_tasks_.back());
  spare_tasks_.pop_back();
  return task;
}

void Scheduler::Core::recycle(BatchedTask task) {
  if (task == nullptr) return;
  task->clear();
  spare_tasks_.push_back(std::move(task));
}

bool Scheduler::Core::form(WorkerId worker, Choice choice, std::vector<BatchedTask>& out) {
  Worker& target = workers_[worker];
  const TypeConfig& type = config_.types[choice.type];
  choice.rows = std::min(choice.rows, max_batch(type, config_.worker_batches, worker));
  BatchedTask task = take_task();
  TaskRecord& record = target.log.begin(choice.type);
  task->seq = record.seq;
  task->type = choice.type;
  const bool formed = form_[choice.type] == Form::kNodes ? form_nodes(worker, choice, *task, record)
                      : type.independent                 ? form_spans(worker, choice, *task, record)
                                                         : form_cohort(worker, choice, *task, record);
  if (!formed) {
    target.log.abandon();
    recycle(std::move(task));
    return false;
  }
  const double cost_us = task_cost_us(type, task->padded_rows);
  target.log.commit(cost_us);
  ++running_[choice.type];
  ++totals_.tasks;
  totals_.rows_executed += task->padded_rows;
  SchedulerStats::PerType& per_type = totals_.types[choice.type];
  ++per_type.tasks;
  per_type.rows += task->rows;
  per_type.padding += task->padded_rows - task->rows;
  models_[type.model].device_us += cost_us;
  policy_->on_submitted(worker, choice.type, task->rows, cost_us);
  out.push_back(std::move(task));
  return true;
}

void Scheduler::Core::touch(std::uint32_t index, TaskRecord& record, std::uint32_t nodes) {
  LiveRequest& live = requests_[index];
  live.last_seq = std::max(live.last_seq, record.seq);
  record.touched.push_back({index, nodes});
}

void Scheduler::Core::claim(std::uint32_t index, WorkerId worker) {
  LiveRequest& live = requests_[index];
  if (!std::exchange(live.started, true)) {
    live.first_submit = now_;
    --models_[live.request.model].waiting;
  }
  if (live.home != worker) set_home(index, worker);
}

void Scheduler::Core::set_home(std::uint32_t index, WorkerId worker) {
  LiveRequest& live = requests_[index];
  live.home = worker;
  live.last_seq = 0;
  const WorkerId place = worker == kNoWorker ? queues_.any() : worker;
  if (live.is_graph) {
    for (const NodeGroup& group : live.graph.groups) {
      if (group.entry != kNoEntry) queues_.move(group.entry, place);
    }
    return;
  }
  for (const LaneRun& run : live.lanes) {
    if (run.entry != kNoEntry) queues_.move(run.entry, place);
  }
}

SchedulerStats Scheduler::Core::stats() const {
  SchedulerStats stats = totals_;
  stats.rows_padding = stats.rows_executed - stats.cells;
  stats.live_requests = live_;
  stats.waiting_requests = static_cast<std::uint32_t>(rooms_.size());
  for (CellTypeId t = 0; t < config_.types.size(); ++t) {
    SchedulerStats::PerType& type = stats.types[t];
    type.id = t;
    type.running = running_[t];
    type.ready = queues_.count(t, queues_.any());
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      type.ready += queues_.count(t, w) + workers_[w].cohorts[t].active();
    }
  }
  for (PoolId p = 0; p < pools_.size(); ++p) {
    stats.pools.push_back({p, pools_[p].capacity(), pools_[p].reserved(), used_slots_[p]});
  }
  for (ModelId m = 0; m < models_.size(); ++m) {
    stats.models.push_back({m, models_[m].live, models_[m].waiting, models_[m].device_us});
  }
  return stats;
}

}  // namespace volvox
