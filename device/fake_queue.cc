#include "device/fake_queue.h"

#include <algorithm>
#include <utility>

namespace volvox {

FakeQueue::FakeQueue(FakeDevice& device, std::size_t number, const QueueConfig& config)
    : device_(device),
      number_(number),
      config_(config),
      tables_(config.max_cohorts, config.max_cohort_rows) {}

FakeQueue::~FakeQueue() {
  const std::lock_guard lock(device_.mutex_);
  device_.queues_[number_] = nullptr;
}

Status FakeQueue::check_room() const {
  if (failed_ != 0) return fail(ErrorCode::kUnavailable, "the queue has failed: " + error_);
  if (last_ - locked_done() >= config_.max_tasks)
    return fail(ErrorCode::kOverloaded, "too many tasks in flight");
  return {};
}

Status FakeQueue::submit(const Task& task) {
  const std::lock_guard lock(device_.mutex_);
  if (Status ok = check_room(); !ok) return ok;
  if (unwelcome_.contains(task.seq)) return fail(ErrorCode::kOverloaded, "there is no memory for the task");
  if (last_ == 0) {
    ran_up_to_ = reported_ = task.seq - 1;
  } else if (task.seq != last_ + 1) {
    device_.record("task " + std::to_string(task.seq) + " was submitted after task " + std::to_string(last_));
  }
  last_ = task.seq;
  entries_.emplace_back(&task);
  device_.changed_.notify_all();
  return {};
}

Status FakeQueue::copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) {
  const std::lock_guard lock(device_.mutex_);
  if (after > last_) device_.record("a state copy follows a task that was not submitted");
  entries_.emplace_back(Copy{&from, {copies.begin(), copies.end()}});
  return {};
}

Progress FakeQueue::progress() const {
  const std::lock_guard lock(device_.mutex_);
  Progress progress;
  progress.done = locked_done();
  if (locked_failed()) {
    progress.first_failed = failed_;
    progress.error = error_;
  }
  return progress;
}

bool FakeQueue::wait(TaskSeq beyond, Duration timeout) {
  std::unique_lock lock(device_.mutex_);
  const auto arrived = [&] { return locked_done() > beyond || locked_failed(); };
  while (device_.options_.run_when_waited_for && !withheld_ && !arrived() && locked_run(1) > 0) {
  }
  return device_.changed_.wait_for(lock, timeout, arrived);
}

void FakeQueue::locked_withhold(bool on) {
  if (on && !withheld_) reported_ = ran_up_to_;
  withheld_ = on;
}

std::size_t FakeQueue::locked_run(std::size_t tasks) {
  std::size_t ran = 0;
  while (ran < tasks && !entries_.empty() && failed_ == 0) {
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    if (const auto* copy = std::get_if<Copy>(&entry)) {
      if (Status ok = device_.copy(*copy->from, copy->slots); !ok) device_.record(ok.error().message);
      continue;
    }
    run_task(*std::get<const Task*>(entry));
    ++ran;
  }
  if (ran > 0) device_.changed_.notify_all();
  return ran;
}

void FakeQueue::run_task(const Task& task) {
  if (doomed_.count(task.seq) != 0)
    return fail_from(task.seq, "task " + std::to_string(task.seq) + " was told to fail");
  device_.ran_.push_back({number_, task.seq, task.type, task.rows, task.padded_rows});
  const InterpretedCell* cell = device_.cell(task.type);
  std::string wrong = cell == nullptr ? "its type was not compiled" : prepare(task, *cell);
  if (wrong.empty()) {
    cell->evaluate(rows_);
  }
  if (!wrong.empty())
    device_.record("queue " + std::to_string(number_) + ", task " + std::to_string(task.seq) + ": " + wrong);
  ran_up_to_ = task.seq;
}

// Applies and resolves the task; says what is wrong with it.
std::string FakeQueue::prepare(const Task& task, const InterpretedCell& cell) {
  const std::uint32_t padded = std::max(task.rows, task.padded_rows);
  if (task.rows == 0) return "it has no rows";
  if (padded > cell.options().max_batch) return "it has more rows than the cell's maximum batch";
  if (task.padded_rows < task.rows) return "it has more rows than it says to run";
  if (Status ok = tables_.apply(task); !ok) return ok.error().message;
  tables_.resolve(task, cell.shape(), rows_);
  if (std::string wrong = check_rows(cell); !wrong.empty()) return wrong;
  return device_.options_.check_addresses ? device_.check_addresses(cell, rows_) : std::string();
}

std::string FakeQueue::check_rows(const InterpretedCell& cell) {
  HazardRules rules;
  rules.shape = cell.shape();
  rules.scatters = cell.scatters();
  rules.options = cell.options();
  const auto slots = [&](PoolId pool) {
    const Planes* planes = device_.pool(pool);
    return planes == nullptr ? 0 : planes->slots();
  };
  for (std::uint32_t g = 0; g < cell.shape().gathers; ++g)
    rules.gather_slots[g] = slots(cell.options().gather_pools[g]);
  rules.ragged_slots = slots(cell.options().ragged_pool);
  rules.out_slots = slots(cell.options().out_pool);
  return hazards_.find(rules, rows_).value_or(std::string());
}

void FakeQueue::fail_from(TaskSeq seq, std::string why) {
  failed_ = seq;
  error_ = std::move(why);
  entries_.clear();
  device_.changed_.notify_all();
}

}  // namespace volvox
