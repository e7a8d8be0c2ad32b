#include "actors/node/scheduler_actor.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/node/known_models.h"
#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"
#include "batching/task_clock.h"

namespace volvox {
namespace {

constexpr Duration kLandingPoll = std::chrono::microseconds(200);
constexpr Duration kAskAgain = std::chrono::milliseconds(100);   // whether a model can be forgotten
constexpr Duration kLeastPause = std::chrono::microseconds(50);  // a clock is never waited for more often

class SchedulerShell {
 public:
  static constexpr const char* kName = "scheduler";

  SchedulerShell(caf::event_based_actor* self, SchedulerSetup setup)
      : self_(self),
        node_(std::move(setup.node)),
        device_(std::move(setup.device)),
        core_(std::move(setup.core)),
        brain_(core_->brain),
        task_timeout_(std::chrono::milliseconds(node_->config.device.task_timeout_ms)),
        models_(brain_) {
    for (const ModelPtr& model : node_->catalog->all()) learn(*model);
  }

  caf::behavior behavior() {
    return {[this](const AdmitWork& admit) { take_in(admit.work); },
            [this](const AdmitWorks& admit) {
              for (const WorkPtr& work : *admit.works) take_in(work);
            },
            [this](const TasksEnded& ended) { take_back(ended); },
            [this](TickAtom) { decide(); },
            [this](const CancelWork& cancel) { drop(cancel.key); },
            [this](const SnapshotQuery& query) {
              take_over();
              if (node_->faults.scheduler_asked) node_->faults.scheduler_asked();
              query.answer->set_value(snapshot());
            },
            [this](const UseModel& use) {
              take_over();
              learn(*use.model);
            },
            [this](const ForgetModel& forget) {
              take_over();
              if (!models_.forget(forget.id, forget.serial)) self_->delayed_send(self_, kAskAgain, forget);
            },
            [this](const UseManager& use) { manager_ = use.manager; },
            [this](const UseWorkers& use) {
              take_over();
              workers_.clear();
              for (const caf::actor& worker : *use.workers) workers_.emplace_back().actor = worker;
              decide_soon();
            }};
  }

 private:
  struct Worker {
    caf::actor actor;
    std::uint32_t epoch = 0;
    QueueTimes times;
    TaskClock clock;
    bool stuck = false;
  };

  void take_in(const WorkPtr& work) {
    take_over();
    if (node_->faults.scheduler) node_->faults.scheduler(work->request());
    const std::uint64_t tag = work->unfolded->request.tag;
    const bool landed = work->unfolded->request.inputs_landed;
    auto& live = core_->live[tag];
    live.work = work;
    live.ends = SequenceEnds(work->checked->lengths);
    if (none_answers()) {
      strand(*work);
      finish(tag);
      return decide_soon();
    }
    const AdmitResult result = admit(*work);
    using Kind = AdmitResult::Kind;
    if (result.kind == Kind::kNeverFits || result.kind == Kind::kFull) {
      const bool full = result.kind == Kind::kFull;
      JobEnd& end = work->end.emplace();
      end.error = Error{full ? ErrorCode::kOverloaded : ErrorCode::kInvalidArgument, result.reason};
      if (full) end.retry_after_us = retry_after_us(*node_);
      finish(tag);
    } else {
      live.id = result.id;
      if (!landed) landing_.push_back(tag);
    }
    decide_soon();
  }

  AdmitResult admit(Work& work) {
    if (!learn(*work.checked->model))
      return {AdmitResult::Kind::kFull, {}, "its model is being replaced; try again"};
    return brain_.admit(std::move(work.unfolded->request), steady_now());
  }

  bool learn(const InstalledModel& model) {
    const Status learned = models_.learn(model);
    if (!learned) spdlog::error("model '{}': {}", model.model->name, learned.error().message);
    return learned.has_value();
  }

  void take_back(const TasksEnded& ended) {
    take_over();
    const TimePoint now = steady_now();
    Worker& worker = workers_.at(ended.worker);
    worker.times = ended.times;
    const Duration busy = note_end(worker, ended, now);
    if (ended.ran && node_->traces->wants_tasks()) trace_tasks(ended, now, busy);
    if (ended.how == TaskEnd::kDone) {
      brain_.complete(ended.worker, ended.tasks->back()->seq, now, events_);
    } else if (ended.how == TaskEnd::kFailed) {
      ++worker.epoch;
      brain_.fail(ended.worker, ended.first_failed, now, events_);
    }
    take_events(now, ended.error);
    for (BatchedTask& task : *ended.tasks) brain_.recycle(std::move(task));
    decide_soon();
  }

  // Returns how long the queue was busy with them.
  Duration note_end(Worker& worker, const TasksEnded& ended, TimePoint now) {
    const Duration busy = worker.clock.ended(static_cast<std::uint32_t>(ended.tasks->size()), now);
    if (std::exchange(worker.stuck, false)) {
      spdlog::warn("{}: queue {} answers again", device_->name, ended.worker);
      tell_health();
    }
    if (ended.how != TaskEnd::kDone) return busy;
    double estimated_us = 0;
    for (const BatchedTask& task : *ended.tasks)
      estimated_us += models_.cost_us(task->type, task->padded_rows);
    node_->workload->measured(estimated_us, busy);
    return busy;
  }

  // Before the brain forgets who was in them. Where the queue cannot tell when they ran, they share the time
  // for which it was busy: only there, as both kinds of times beside each other would overlap. So what the
  // worker took back before a trace began is not in it.
  void trace_tasks(const TasksEnded& ended, TimePoint now, Duration busy) const {
    const auto count = static_cast<std::int64_t>(ended.tasks->size());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Task& task = *(*ended.tasks)[at];
      const TaskCompany& company = brain_.company(ended.worker, task.seq);
      TaskSpan span;
      span.device = device_->number;
      span.worker = ended.worker;
      span.device_name = device_->name;
      span.cell = models_.name_of(task.type);
      span.seq = task.seq;
      span.rows = task.rows;
      span.padded_rows = task.padded_rows;
      span.own_clock = at < ended.ran->size();
      span.begun = span.own_clock ? (*ended.ran)[at].begun : now - busy + busy * i / count;
      span.ended = span.own_clock ? (*ended.ran)[at].ended : now - busy + busy * (i + 1) / count;
      span.joined = keys_of(company.joined);
      span.left = keys_of(company.left);
      node_->traces->record(std::move(span));
    }
  }

  // Of the requests, each once, as their doors have numbered them.
  std::vector<std::uint64_t> keys_of(const std::vector<std::uint64_t>& tags) const {
    std::vector<std::uint64_t> keys;
    for (const std::uint64_t tag : tags) {
      const auto live = core_->live.find(tag);
      if (live != core_->live.end()) keys.push_back(live->second.work->request().key);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  void drop(std::uint64_t key) {
    const auto live = core_->live.find(key);
    if (live == core_->live.end()) return;
    const TimePoint now = steady_now();
    brain_.cancel(live->second.id, now, events_);
    take_events(now, {});
    decide_soon();
  }

  void take_events(TimePoint now, const Error& device_error) {
    for (std::size_t i = 0; i < events_.size(); ++i) {  // more may come when a sequence stops
      const Event event = events_[i];
      const auto live = core_->live.find(event.tag);
      if (live == core_->live.end()) continue;
      if (event.kind == Event::Kind::kStepDone) {
        step_done(live->second, event, now);
      } else if (live->second.told) {
        core_->live.erase(live);  // its task has ended at last: now its memory may go
      } else if (event.kind != Event::Kind::kNodeDone) {
        Work& work = *live->second.work;
        // A session must not run in rows that the task which hangs may still write: it waits for its end.
        if (work.part && event.kind == Event::Kind::kStuck) {
          self_->send(work.part->keeper, PartStuck{work.part->session});
          continue;
        }
        JobEnd& end = work.end.emplace();
        end.lengths = live->second.ends.ended();
        end.first_submit = event.first_submit;
        end.done = now;
        set_error(end, event.kind, device_error);
        live->second.told = event.kind == Event::Kind::kStuck;
        finish(event.tag);
      }
    }
    events_.clear();
  }

  void step_done(EngineCore::Live& live, const Event& event, TimePoint now) {
    const Work& work = *live.work;
    const std::uint32_t steps = live.ends.step_done(*work.checked->model, event,
                                                    work.unfolded->results.host.get(), now, brain_, events_);
    if (!work.request().header.stream) return;
    if (!stepped_) stepped_ = std::make_shared<std::vector<Stepped::Lane>>();
    stepped_->push_back({live.work, event.lane, steps});
  }

  void set_error(JobEnd& end, Event::Kind kind, const Error& device_error) const {
    const bool later = device_error.code == ErrorCode::kOverloaded;  // it had no memory, but may have again
    if (kind == Event::Kind::kFailed) {
      end.device_failed = true;
      end.error = Error{later ? ErrorCode::kOverloaded : ErrorCode::kInternal,
                        "the device failed: " + device_error.message};
      if (later) end.retry_after_us = retry_after_us(*node_);
    } else if (kind == Event::Kind::kStuck) {
      end.error = Error{ErrorCode::kInternal,
                        "a task of the device takes longer than device.task_timeout_ms; send the request to "
                        "another server"};
    } else if (kind == Event::Kind::kExpired) {
      end.error = Error{ErrorCode::kDeadlineExceeded, kTooLate};
    } else if (kind == Event::Kind::kCancelled) {
      end.error = Error{ErrorCode::kCancelled, "the request was cancelled"};
    }
  }

  // A task that does not end: whoever waits for it is told, the other queues go on.
  void look_for_stalls(TimePoint now) {
    for (WorkerId id = 0; id < workers_.size(); ++id) {
      Worker& worker = workers_[id];
      const auto overdue = worker.clock.overdue_at(task_timeout_);
      if (worker.stuck || !overdue || *overdue > now) continue;
      spdlog::error("{}: queue {} hangs: its task has run for {} ms", device_->name, id,
                    node_->config.device.task_timeout_ms);
      worker.stuck = true;
      node_->metrics->task_stuck();
      tell_health();
      brain_.suspend(id, now, events_);
      take_events(now, {});
      if (none_answers()) let_all_go(now);
    }
  }

  bool none_answers() const { return !workers_.empty() && std::ranges::all_of(workers_, &Worker::stuck); }

  // What has no task that hangs can go on elsewhere, but not here.
  void let_all_go(TimePoint now) {
    std::vector<std::uint64_t> waiting;
    for (const auto& [tag, live] : core_->live)
      if (!live.told) waiting.push_back(tag);
    for (const std::uint64_t tag : waiting) {
      const auto live = core_->live.find(tag);
      brain_.cancel(live->second.id, now, events_);
      if (events_.empty()) continue;  // a part of a session in a task that hangs
      events_.clear();
      strand(*live->second.work);
      finish(tag);
    }
  }

  // As a request under which the device failed: somebody may run it on another one.
  void strand(Work& work) const {
    JobEnd& end = work.end.emplace();
    end.device_failed = true;
    end.error = Error{ErrorCode::kUnavailable, "the device does not answer; ask another server"};
    end.retry_after_us = retry_after_us(*node_);
  }

  void tell_health() const {
    const auto stuck =
        std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.stuck; });
    device_->health->set_stuck(static_cast<std::uint32_t>(stuck));
  }

  void finish(std::uint64_t tag) {
    const auto live = core_->live.find(tag);
    if (!finished_) finished_ = std::make_shared<std::vector<WorkPtr>>();
    finished_->push_back(live->second.work);
    if (!live->second.told) core_->live.erase(live);
  }

  // Once, after all that is in the mailbox by now.
  void decide_soon() {
    if (std::exchange(deciding_, true)) return;
    self_->send(self_, TickAtom::value);
  }

  void decide() {
    deciding_ = false;
    look_for_inputs();
    const TimePoint now = steady_now();
    brain_.expire(now, events_);
    take_events(now, {});
    look_for_stalls(now);
    for (WorkerId id = 0; id < workers_.size(); ++id) {
      auto tasks = std::make_shared<std::vector<BatchedTask>>();
      brain_.schedule(id, now, *tasks);
      if (tasks->empty()) continue;
      for (const BatchedTask& task : *tasks) models_.count_task(task->type, task->rows);
      workers_[id].clock.submitted(static_cast<std::uint32_t>(tasks->size()), now);
      hand_over();
      self_->send(workers_[id].actor, SubmitTasks{std::move(tasks), workers_[id].epoch});
    }
    hand_over();
    if (stepped_) self_->send(manager_, Stepped{std::move(stepped_)});
    stepped_ = nullptr;
    if (finished_) self_->send(manager_, FinishedWorks{std::move(finished_)});
    finished_ = nullptr;
    wake_later(now);
  }

  // A device that copies inputs says only when asked that they have landed.
  void look_for_inputs() {
    std::erase_if(landing_, [this](std::uint64_t tag) {
      const auto live = core_->live.find(tag);
      if (live == core_->live.end()) return true;
      if (!live->second.work->unfolded->pages->landed()) return false;
      brain_.inputs_landed(live->second.id, steady_now());
      return true;
    });
  }

  void wake_later(TimePoint now) {
    std::optional<TimePoint> at = brain_.next_wakeup();
    for (const Worker& worker : workers_) {
      const auto overdue = worker.clock.overdue_at(task_timeout_);
      if (overdue && !worker.stuck) at = std::min(at.value_or(TimePoint::max()), *overdue);
    }
    if (!landing_.empty()) at = std::min(at.value_or(TimePoint::max()), now + kLandingPoll);
    while (!alarms_.empty() && alarms_.back() <= now) alarms_.pop_back();
    if (!at || (!alarms_.empty() && alarms_.back() <= *at)) return;
    alarms_.push_back(std::max(*at, now + kLeastPause));
    self_->delayed_send(self_, alarms_.back() - now, TickAtom::value);
  }

  EngineSnapshot snapshot() const {
    const SchedulerStats stats = brain_.stats();
    EngineSnapshot snapshot;
    snapshot.device = device_->name;
    snapshot.tasks = stats.tasks;
    snapshot.cells = stats.cells;
    snapshot.rows_executed = stats.rows_executed;
    snapshot.rows_padding = stats.rows_padding;
    snapshot.rows_moved = stats.rows_moved;
    snapshot.cancelled = stats.requests_cancelled;
    snapshot.failed = stats.requests_failed;
    snapshot.expired = stats.requests_expired;
    snapshot.live_requests = stats.live_requests;
    snapshot.waiting_requests = stats.waiting_requests;
    snapshot.waiting_clients = stats.waiting_clients;
    for (const Worker& worker : workers_) {
      snapshot.stuck_queues += worker.stuck ? 1 : 0;
      snapshot.kernel_seconds += static_cast<double>(worker.times.kernel_ns) * 1e-9;
      snapshot.cpu_kernel_seconds += static_cast<double>(worker.times.cpu_kernel_ns) * 1e-9;
    }
    models_.describe(stats, snapshot);
    return snapshot;
  }

  caf::event_based_actor* self_;
  NodePtr node_;
  NodeDevicePtr device_;
  std::shared_ptr<EngineCore> core_;
  Scheduler& brain_;
  const Duration task_timeout_;
  caf::actor manager_;
  std::vector<Worker> workers_;
  KnownModels models_;
  std::vector<Event> events_;
  std::shared_ptr<std::vector<Stepped::Lane>> stepped_;
  std::shared_ptr<std::vector<WorkPtr>> finished_;
  std::vector<std::uint64_t> landing_;  // requests whose inputs are on their way
  std::vector<TimePoint> alarms_;       // ticks that are to come, the next one last
  bool deciding_ = false;
};

}  // namespace

caf::actor spawn_scheduler(caf::actor_system& system, SchedulerSetup setup) {
  return spawn_shell<SchedulerShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
