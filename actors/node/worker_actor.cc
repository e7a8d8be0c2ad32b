#include "actors/node/worker_actor.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <stdexcept>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

constexpr Duration kSlice = std::chrono::milliseconds(1);

class WorkerShell {
 public:
  static constexpr const char* kName = "worker";

  WorkerShell(caf::event_based_actor* self, WorkerSetup setup)
      : self_(self),
        node_(std::move(setup.node)),
        device_(std::move(setup.device)),
        core_(std::move(setup.core)),
        number_(setup.number),
        scheduler_(std::move(setup.scheduler)),
        queue_(std::move(*setup.queue)) {}

  caf::behavior behavior() {
    return {[this](const SubmitTasks& submit) { take(submit); }, [this](TickAtom) { watch(); }};
  }

 private:
  void take(const SubmitTasks& submit) {
    take_over();
    if (submit.epoch != epoch_) return report(TaskEnd::kDropped, submit.tasks, {});
    for (BatchedTask& task : *submit.tasks) {
      if (node_->faults.worker) node_->faults.worker(*task);
      submit_one(std::move(task));
    }
    look_again();
  }

  void submit_one(BatchedTask task) {
    if (!refused_.empty()) return refused_.push_back(std::move(task));
    // Kept before the queue has it, which reads it until it is done.
    in_flight_.push_back(std::move(task));
    const Status submitted = queue_->submit(*in_flight_.back());
    // A queue that failed meanwhile refuses; its progress says so, and watch() sees to the task.
    if (submitted || queue_->progress().first_failed != 0) return;
    refusal_ = submitted.error();
    refused_.push_back(std::move(in_flight_.back()));
    in_flight_.pop_back();
  }

  void look_again() {
    if ((in_flight_.empty() && refused_.empty()) || looking_) return;
    looking_ = true;
    self_->send(self_, TickAtom::value);  // after the tasks that are in the mailbox by now
  }

  void watch() {
    looking_ = false;
    if (!in_flight_.empty()) queue_->wait(in_flight_.front()->seq - 1, kSlice);
    const Progress progress = queue_->progress();
    times_ = {past_.kernel_ns + progress.kernel_ns, past_.cpu_kernel_ns + progress.cpu_kernel_ns};
    if (TaskGroup done = take_up_to(progress.done); !done->empty()) {
      done_ = done->back()->seq;
      std::optional<std::vector<TaskTimes>> ran;
      if (node_->traces->wants_tasks()) ran = times_of(*done);
      report(TaskEnd::kDone, std::move(done), {}, std::move(ran));
    }
    if (progress.first_failed != 0) {
      replace_queue({ErrorCode::kInternal, progress.error});
    } else if (in_flight_.empty() && !refused_.empty()) {  // those before it are done: now it has failed
      replace_queue(std::exchange(refusal_, {}));
    }
    look_again();
  }

  TaskGroup take_up_to(TaskSeq seq) {
    auto tasks = std::make_shared<std::vector<BatchedTask>>();
    while (!in_flight_.empty() && in_flight_.front()->seq <= seq) {
      tasks->push_back(std::move(in_flight_.front()));
      in_flight_.pop_front();
    }
    return tasks;
  }

  std::vector<TaskTimes> times_of(const std::vector<BatchedTask>& tasks) const {
    std::vector<TaskTimes> ran;
    for (const BatchedTask& task : tasks) {
      const auto times = queue_->times(task->seq);
      if (!times) return {};
      ran.push_back(*times);
    }
    return ran;
  }

  void replace_queue(const Error& error) {
    spdlog::error("{}: queue {} failed: {}", device_->name, number_, error.message);
    past_ = times_;
    ++epoch_;
    queue_.reset();  // from here on nothing reads the tasks
    auto fresh = device_->open_queue();
    if (!fresh) throw std::runtime_error(fresh.error().message);
    queue_ = std::move(*fresh);
    TaskGroup tasks = take_up_to(~TaskSeq{0});
    for (BatchedTask& task : refused_) tasks->push_back(std::move(task));
    refused_.clear();
    report(TaskEnd::kFailed, std::move(tasks), error);
  }

  void report(TaskEnd how, TaskGroup tasks, const Error& error,
              std::optional<std::vector<TaskTimes>> ran = std::nullopt) {
    hand_over();
    self_->send(scheduler_,
                TasksEnded{number_, how, std::move(tasks), times_, error, done_ + 1, std::move(ran)});
  }

  caf::event_based_actor* self_;
  NodePtr node_;
  NodeDevicePtr device_;
  std::shared_ptr<EngineCore> core_;
  WorkerId number_;
  caf::actor scheduler_;
  std::uint32_t epoch_ = 0;
  TaskSeq done_ = 0;
  bool looking_ = false;
  QueueTimes times_, past_;  // all queues so far; those that were replaced
  std::deque<BatchedTask> in_flight_;
  std::vector<BatchedTask> refused_;  // by the queue, the first for `refusal_`; the others come after it
  Error refusal_;
  std::unique_ptr<Queue> queue_;  // last: it ends before the tasks that it may read, and before the core
};

}  // namespace

caf::actor spawn_worker(caf::actor_system& system, WorkerSetup setup) {
  return spawn_shell<WorkerShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
