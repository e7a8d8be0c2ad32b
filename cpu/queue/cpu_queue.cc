#include "cpu/queue/cpu_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "device/guarded_task.h"

namespace volvox::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Groups of state copies that may wait between the tasks.
constexpr std::size_t kMaxCopies = 64;

}  // namespace

Result<std::unique_ptr<Queue>> CpuQueue::open(const QueueConfig& config, CellFinder& cells,
                                              CopyChecker& copies) {
  const std::string queue = "queue '" + config.name + "': ";
  if (config.threads < 1 || config.threads > ThreadTeam::kMaxThreads) {
    return invalid(queue + "threads must be between 1 and " + std::to_string(ThreadTeam::kMaxThreads));
  }
  if (config.max_tasks < 1) return invalid(queue + "max_tasks must be at least 1");
  auto runner = ProductRunner::make(config.threads);
  if (!runner) return tl::unexpected(runner.error());
  try {
    return std::unique_ptr<Queue>(new CpuQueue(config, std::move(*runner), cells, copies));
  } catch (const std::exception& e) {
    return fail(ErrorCode::kOverloaded, queue + "cannot start its threads: " + e.what());
  }
}

CpuQueue::CpuQueue(const QueueConfig& config, ProductRunner runner, CellFinder& cells, CopyChecker& copies)
    : config_(config),
      cells_(cells),
      copies_(copies),
      times_(config.max_tasks),
      ring_(config.max_tasks + kMaxCopies),
      team_(config.threads),
      work_(std::move(runner)),
      tables_(config.max_cohorts, config.max_cohort_rows),
      executor_([this] { execute(); }) {}

CpuQueue::~CpuQueue() {
  ring_.close();
  executor_.join();
}

Status CpuQueue::check(const Task& task) const {
  const std::string where = "queue '" + config_.name + "', task " + std::to_string(task.seq) + ": ";
  if (board_.failed()) return fail(ErrorCode::kUnavailable, where + "the queue has failed");
  if (task.seq == 0 || (last_ != 0 && task.seq != last_ + 1)) {
    return invalid(where + "its number does not follow " + std::to_string(last_));
  }
  if (last_ != 0 && last_ - std::min(board_.done(), last_) >= config_.max_tasks) {
    return fail(ErrorCode::kOverloaded, where + "max_tasks are in flight");
  }
  return {};
}

Status CpuQueue::submit(const Task& task) {
  if (Status ok = check(task); !ok) return ok;
  const CpuCell* cell = cells_.find_cell(task.type);
  if (cell == nullptr) return invalid("no cell type " + std::to_string(task.type) + " on this device");
  Entry* entry = ring_.next_free();
  if (entry == nullptr) return fail(ErrorCode::kOverloaded, "the queue is full");
  entry->seq = task.seq;
  entry->task = &task;
  entry->cell = cell;
  if (last_ == 0) board_.publish_done(task.seq - 1);  // numbers go on where another queue ended
  last_ = task.seq;
  const bool others_left = left_;
  left_ = ring_.consumer_sleeps();
  left_ && !others_left ? ring_.push_quietly() : ring_.push();
  return {};
}

Status CpuQueue::copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) {
  if (after > last_) return invalid("a state copy follows a task that was not submitted");
  if (board_.failed()) return fail(ErrorCode::kUnavailable, "the queue has failed");
  Entry* entry = ring_.next_free();
  if (entry == nullptr) return fail(ErrorCode::kOverloaded, "the queue is full");
  entry->seq = 0;
  entry->copies.clear();
  if (Status ok = copies_.check_copies(from, copies, entry->copies); !ok) return ok;
  ring_.push();
  return {};
}

Progress CpuQueue::progress() const {
  if (std::exchange(left_, false)) ring_.wake_consumer();
  return board_.read();
}

std::optional<TaskTimes> CpuQueue::times(TaskSeq seq) const {
  return times_[seq % times_.size()];
}

bool CpuQueue::wait(TaskSeq beyond, Duration timeout) {
  const bool has_to_wait = board_.done() <= beyond && !board_.failed() && timeout > Duration::zero();
  if (left_ && has_to_wait) {
    left_ = false;
    // Held: the executor is awake, and looks again before it sleeps.
    const std::unique_lock lock(running_, std::try_to_lock);
    if (lock) run_next();
  }
  if (std::exchange(left_, false)) ring_.wake_consumer();
  return board_.wait(beyond, timeout);
}

void CpuQueue::execute() {
  while (ring_.await(ThreadTeam::kSpin) != nullptr) {
    const std::lock_guard lock(running_);
    run_next();
  }
}

// There may be none any more.
void CpuQueue::run_next() {
  Entry* entry = ring_.peek();
  if (entry == nullptr) return;
  const TaskSeq seq = entry->seq;
  Status status;
  if (!board_.failed()) {
    if (seq == 0) {
      run_copies(entry->copies);
    } else {
      status = guarded_task([&] { return run(*entry->task, *entry->cell); });
    }
  }
  const bool failed = board_.failed();
  ring_.pop();
  if (seq == 0 || failed) return;
  status ? board_.publish_done(seq) : board_.publish_failure(seq, status.error().message);
}

Status CpuQueue::run(const Task& task, const CpuCell& cell) {
  if (Status ok = tables_.apply(task); !ok) return ok;
  tables_.resolve(task, cell.shape(), rows_);
  const auto begin = Clock::now();
  Status status = cell.run(rows_, work_, team_);
  const auto end = Clock::now();
  const std::chrono::nanoseconds wall = end - begin;
  times_[task.seq % times_.size()] = {begin, end};
  board_.add_kernel_ns(static_cast<std::uint64_t>(wall.count()));
  board_.set_cpu_kernel_ns(team_.busy_ns());
  return status;
}

void CpuQueue::run_copies(const std::vector<ReadyCopy>& copies) {
  for (const ReadyCopy& copy : copies) copy.to->copy(*copy.from, copy.slots.from, copy.slots.to);
}

}  // namespace volvox::cpu
