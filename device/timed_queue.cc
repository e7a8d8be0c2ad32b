#include "device/timed_queue.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.h"
#include "device/guarded_task.h"

namespace volvox {

TimedQueue::TimedQueue(TimedDevice& device, TimedCost cost, const QueueConfig& config)
    : device_(device),
      cost_(cost),
      config_(config),
      tables_(config.max_cohorts, config.max_cohort_rows),
      thread_([this] { serve(); }) {}

TimedQueue::~TimedQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

Status TimedQueue::submit(const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.first_failed != 0)
      return fail(ErrorCode::kUnavailable, "the queue has failed: " + progress_.error);
    if (last_ == 0) progress_.done = task.seq - 1;
    if (last_ != 0 && task.seq != last_ + 1) return invalid("tasks must be submitted in order");
    if (task.seq - progress_.done > config_.max_tasks)
      return fail(ErrorCode::kOverloaded, "too many tasks in flight");
    last_ = task.seq;
    entries_.emplace_back(Submitted{&task, steady_now()});
  }
  work_.notify_one();
  return {};
}

Status TimedQueue::copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq) {
  {
    const std::lock_guard lock(mutex_);
    entries_.emplace_back(Copy{&from, {copies.begin(), copies.end()}});
  }
  work_.notify_one();
  return {};
}

Progress TimedQueue::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

bool TimedQueue::wait(TaskSeq beyond, Duration timeout) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, timeout,
                        [&] { return progress_.done > beyond || progress_.first_failed != 0; });
}

void TimedQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !entries_.empty(); });
    if (stopping_) return;
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    lock.unlock();
    perform(entry);
    lock.lock();
  }
}

void TimedQueue::perform(const Entry& entry) {
  if (const auto* copy = std::get_if<Copy>(&entry)) return perform_copy(*copy);
  perform_task(std::get<Submitted>(entry));
}

void TimedQueue::perform_copy(const Copy& copy) {
  const Status copied = guarded_task([&] { return device_.copy(*copy.from, copy.slots); });
  const std::lock_guard lock(mutex_);
  if (!copied) fail_with(progress_.done + 1, copied.error().message);
}

void TimedQueue::perform_task(const Submitted& submitted) {
  const Task& task = *submitted.task;
  const TaskSeq seq = task.seq;
  const double us = cost_.fixed_us + cost_.per_row_us * std::max(task.rows, task.padded_rows);
  const Duration cost(static_cast<std::int64_t>(us * 1000));
  // From when the task before should have ended, not from when a sleep that was too long ended.
  free_at_ = std::max(free_at_, submitted.at) + cost;
  const Status computed = guarded_task([&] { return compute(task); });
  std::this_thread::sleep_until(free_at_);
  const std::lock_guard lock(mutex_);
  if (!computed) return fail_with(seq, computed.error().message);
  progress_.done = seq;
  progress_.kernel_ns += static_cast<std::uint64_t>(cost.count());
  done_.notify_all();
}

Status TimedQueue::compute(const Task& task) {
  const InterpretedCell* cell = device_.cell(task.type);
  if (cell == nullptr) return invalid("type " + std::to_string(task.type) + " was not compiled");
  if (Status ok = tables_.apply(task); !ok) return ok;
  if (!cell->cheap()) return {};
  tables_.resolve(task, cell->shape(), rows_);
  cell->evaluate(rows_);
  return {};
}

void TimedQueue::fail_with(TaskSeq seq, const std::string& why) {
  if (progress_.first_failed == 0) {
    progress_.first_failed = seq;
    progress_.error = why;
  }
  entries_.clear();
  done_.notify_all();
}

}  // namespace volvox
