#include "simulation/engine.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/cpu_time.h"

namespace volvox {
namespace {

// With several queues the engine looks at each in turn, so often.
constexpr Duration kGlance = std::chrono::microseconds(100);
// How long what is done may wait for more of it.
constexpr Duration kGather = std::chrono::microseconds(100);

}  // namespace

QueueConfig queue_config(const SchedulerConfig& config, std::uint32_t threads) {
  QueueConfig queue;
  queue.name = "engine";
  queue.threads = threads;
  queue.max_tasks = std::max(queue.max_tasks, config.max_tasks_to_submit);
  for (const TypeConfig& type : config.types)
    queue.max_cohort_rows = std::max(queue.max_cohort_rows, type.max_batch);
  return queue;
}

Engine::Engine(Device& device, SchedulerConfig config, std::unique_ptr<Policy> policy,
               const QueueConfig& queue, Clock clock)
    : device_(device), queue_config_(queue), clock_(clock ? std::move(clock) : Clock(steady_now)) {
  workers_.resize(config.workers);
  totals_.resize(config.types.size());
  scheduler_ = std::make_unique<Scheduler>(std::move(config), std::move(policy));
}

Engine::~Engine() {
  for (Worker& worker : workers_) worker.queue.reset();  // before the tasks that it may still read
}

Result<std::unique_ptr<Engine>> Engine::make(Device& device, SchedulerConfig config,
                                             std::unique_ptr<Policy> policy, const QueueConfig& queue,
                                             Clock clock) {
  std::unique_ptr<Engine> engine(
      new Engine(device, std::move(config), std::move(policy), queue, std::move(clock)));
  for (Worker& worker : engine->workers_) {
    if (Status ok = engine->open(worker); !ok) return tl::unexpected(ok.error());
  }
  return engine;
}

Status Engine::open(Worker& worker) {
  auto queue = device_.open(queue_config_);
  if (!queue) return tl::unexpected(queue.error());
  worker.queue = std::move(*queue);
  return {};
}

AdmitResult Engine::admit(Request request) {
  return scheduler_->admit(std::move(request), now());
}

void Engine::cancel(RequestId id, std::vector<Event>& out) {
  scheduler_->cancel(id, now(), out);
}

// Gives back the oldest tasks, up to this one.
void Engine::retire(Worker& worker, TaskSeq up_to, bool count) {
  while (!worker.in_flight.empty() && worker.in_flight.front()->seq <= up_to) {
    BatchedTask task = std::move(worker.in_flight.front());
    worker.in_flight.pop_front();
    if (count) {
      TypeTotals& totals = totals_[task->type];
      ++totals.tasks;
      totals.rows += task->rows;
      totals.executed_rows += std::max(task->rows, task->padded_rows);
    }
    scheduler_->recycle(std::move(task));
  }
}

Result<bool> Engine::collect(WorkerId id, std::vector<Event>& out) {
  Worker& worker = workers_[id];
  if (worker.in_flight.empty()) return false;
  const Progress progress = worker.queue->progress();
  const bool news = progress.done > worker.done;
  if (news) {
    note_pace(worker, progress);
    worker.done = progress.done;
    scheduler_->complete(id, progress.done, now(), out);
    retire(worker, progress.done, true);
  }
  if (progress.first_failed == 0) return news;
  if (Status ok = replace(id, progress, out); !ok) return tl::unexpected(ok.error());
  return true;
}

Status Engine::replace(WorkerId id, const Progress& progress, std::vector<Event>& out) {
  Worker& worker = workers_[id];
  last_failure_ = progress.error;
  kernel_time_of_replaced_.kernel_ns += progress.kernel_ns;
  kernel_time_of_replaced_.cpu_kernel_ns += progress.cpu_kernel_ns;
  worker.queue.reset();
  worker.kernel_ns = 0;
  scheduler_->fail(id, progress.first_failed, now(), out);
  if (!worker.in_flight.empty()) {
    worker.done = worker.in_flight.back()->seq;
    retire(worker, worker.done, false);
  }
  return open(worker);
}

Result<bool> Engine::submit(WorkerId id) {
  tasks_.clear();
  scheduler_->schedule(id, now(), tasks_);
  Worker& worker = workers_[id];
  for (BatchedTask& task : tasks_) {
    if (Status ok = worker.queue->submit(*task); !ok) {
      // A queue that failed meanwhile reports it in its progress; collect() then sees to the tasks.
      if (worker.queue->progress().first_failed == 0) return tl::unexpected(ok.error());
    }
    worker.in_flight.push_back(std::move(task));
  }
  return !tasks_.empty();
}

Status Engine::turn(Duration timeout, std::vector<Event>& out) {
  bool news = false;
  for (WorkerId id = 0; id < workers_.size(); ++id) {
    const auto collected = collect(id, out);
    if (!collected) return tl::unexpected(collected.error());
    news = news || *collected;
  }
  for (WorkerId id = 0; id < workers_.size(); ++id) {
    const auto submitted = submit(id);
    if (!submitted) return tl::unexpected(submitted.error());
    news = news || *submitted;
  }
  if (!news && timeout > Duration{0}) {
    const std::uint64_t begin = thread_cpu_ns();
    wait(timeout);
    waiting_cpu_ns_ += thread_cpu_ns() - begin;
  }
  return {};
}

void Engine::note_pace(Worker& worker, const Progress& progress) {
  const auto tasks = static_cast<double>(progress.done - worker.done);
  const double ns = static_cast<double>(progress.kernel_ns - worker.kernel_ns) / tasks;
  worker.task_ns += (ns - worker.task_ns) / 8;
  worker.kernel_ns = progress.kernel_ns;
}

// Waking up costs as much as a short task, so short tasks are taken in together: as many as run within
// kGather, but no more than half of those in flight, so that the queue does not run dry meanwhile.
TaskSeq Engine::worth_waking_for(const Worker& worker) {
  const double within = static_cast<double>(kGather.count()) / std::max(worker.task_ns, 1.0);
  const std::size_t half = worker.in_flight.size() / 2;
  const double tasks = std::min(within, static_cast<double>(half));
  return worker.done + static_cast<TaskSeq>(std::clamp(tasks, 1.0, 1e6)) - 1;
}

void Engine::wait(Duration timeout) {
  const TimePoint start = now();
  if (const auto wakeup = scheduler_->next_wakeup()) {
    timeout = std::clamp(*wakeup - start, Duration{0}, timeout);
  }
  const auto busy = [](const Worker& w) { return !w.in_flight.empty(); };
  const auto count = std::count_if(workers_.begin(), workers_.end(), busy);
  if (count == 0) return std::this_thread::sleep_for(timeout);
  const TimePoint until = start + timeout;
  do {
    for (Worker& worker : workers_) {
      if (!busy(worker)) continue;
      if (worker.queue->wait(worth_waking_for(worker), count == 1 ? timeout : std::min(kGlance, timeout)))
        return;
    }
  } while (count > 1 && now() < until);
}

Status Engine::drain(Duration limit, std::vector<Event>& out) {
  const TimePoint until = now() + limit;
  while (!scheduler_->idle()) {
    if (now() >= until) return fail(ErrorCode::kDeadlineExceeded, "the engine did not drain in time");
    if (Status ok = turn(std::chrono::milliseconds(10), out); !ok) return ok;
  }
  return {};
}

Progress Engine::kernel_time() const {
  Progress sum = kernel_time_of_replaced_;
  for (const Worker& worker : workers_) {
    const Progress progress = worker.queue->progress();
    sum.kernel_ns += progress.kernel_ns;
    sum.cpu_kernel_ns += progress.cpu_kernel_ns;
  }
  return sum;
}

}  // namespace volvox
