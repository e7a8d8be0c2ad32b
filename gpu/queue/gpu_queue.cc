#include "gpu/queue/gpu_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/spin.h"
#include "device/guarded_task.h"

namespace volvox::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// Groups of state copies that may wait between the tasks.
constexpr std::size_t kMaxCopies = 64;
constexpr std::chrono::microseconds kLauncherSpin{20};
// How often a word is looked at that the device writes; the system adds some tens of microseconds to a nap.
// Spinning spares the microseconds that waking up takes, where there is a processor for it. Of a few it takes
// the one that the tasks' own host work waits for.
constexpr std::chrono::microseconds kSpin{50}, kShortSpin{10}, kNap{10};
constexpr unsigned kFewProcessors = 4;
constexpr std::chrono::milliseconds kHealthEvery{1};
// Longer timeouts would overflow the clock.
constexpr std::chrono::hours kLongest{1000};

std::chrono::microseconds spin() {
  static const bool few = std::thread::hardware_concurrency() <= kFewProcessors;
  return few ? kShortSpin : kSpin;
}

}  // namespace

GpuQueue::GpuQueue(const QueueConfig& config, std::unique_ptr<QueueContext> context, CopyChecker& copies,
                   std::function<void(QueueContext*)> closed)
    : config_(config),
      context_(std::move(context)),
      copies_(copies),
      closed_(std::move(closed)),
      ring_(config.max_tasks + kMaxCopies),
      launcher_([this] { serve(); }) {}

GpuQueue::~GpuQueue() {
  closing_.store(true);
  ring_.close();
  launcher_.join();
  closed_(context_.get());
}

Status GpuQueue::check(const Task& task) const {
  const std::string where = "queue '" + config_.name + "', task " + std::to_string(task.seq) + ": ";
  if (failed()) return fail(ErrorCode::kUnavailable, where + "the queue has failed");
  if (task.seq == 0 || (last_ != 0 && task.seq != last_ + 1)) {
    return invalid(where + "its number does not follow " + std::to_string(last_));
  }
  if (last_ != 0 && last_ - std::min(context_->done(), last_) >= config_.max_tasks) {
    return fail(ErrorCode::kOverloaded, where + "max_tasks are in flight");
  }
  return {};
}

Status GpuQueue::submit(const Task& task) {
  if (Status ok = check(task); !ok) return ok;
  Entry* entry = ring_.next_free();
  if (entry == nullptr) return fail(ErrorCode::kOverloaded, "the queue is full");
  entry->task = &task;
  if (last_ == 0) context_->begin_after(task.seq - 1);
  last_ = task.seq;
  ring_.push();
  return {};
}

Status GpuQueue::copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) {
  if (after > last_) return invalid("a state copy follows a task that was not submitted");
  if (failed()) return fail(ErrorCode::kUnavailable, "the queue has failed");
  Entry* entry = ring_.next_free();
  if (entry == nullptr) return fail(ErrorCode::kOverloaded, "the queue is full");
  entry->task = nullptr;
  entry->copies.clear();
  if (Status ok = copies_.check_copies(from, copies, entry->copies); !ok) return ok;
  ring_.push();
  return {};
}

void GpuQueue::serve() {
  while (Entry* entry = ring_.await(kLauncherSpin)) {
    while (entry != nullptr) {
      const TaskSeq seq = entry->task != nullptr ? entry->task->seq : taken_ + 1;
      if (!failed()) {
        if (Status ok = guarded_task([&] { return accept(*entry); }); !ok) fail_after_others(seq, ok.error());
      }
      ring_.pop();
      entry = context_->full() ? nullptr : ring_.peek();
    }
    if (failed()) continue;
    if (Status ok = guarded_task([&] { return context_->flush(); }); !ok)
      publish_failure(context_->done() + 1, ok.error().message);
  }
}

Status GpuQueue::accept(const Entry& entry) {
  if (entry.task != nullptr) return take(*entry.task);
  if (Status ok = context_->flush(); !ok) return ok;
  return context_->copy(entry.copies);
}

// Waits, if it must, until the rings have room.
Status GpuQueue::take(const Task& task) {
  while (true) {
    const auto taken = context_->take(task);
    if (!taken) return tl::unexpected(taken.error());
    if (*taken == QueueContext::Taken::kYes) break;
    if (Status ok = context_->flush(); !ok) return ok;
    if (Status ok = context_->driver().health(); !ok) return ok;
    if (closing_.load() || context_->failed() != 0) return fail(ErrorCode::kUnavailable, "the queue ends");
    std::this_thread::sleep_for(kNap);
  }
  taken_ = task.seq;
  return {};
}

Status GpuQueue::await_all() {
  if (Status ok = context_->flush(); !ok) return ok;
  while (context_->done() < taken_ && context_->failed() == 0 && !closing_.load()) {
    if (Status ok = context_->driver().health(); !ok) return ok;
    std::this_thread::sleep_for(kNap);
  }
  return {};
}

// A task that cannot run fails alone: those before it are done first.
void GpuQueue::fail_after_others(TaskSeq seq, const Error& error) {
  const Status others = guarded_task([&] { return await_all(); });
  if (!others) return publish_failure(context_->done() + 1, others.error().message);
  publish_failure(seq, error.message);
}

void GpuQueue::publish_failure(TaskSeq seq, std::string error) const {
  const std::lock_guard lock(mutex_);
  if (first_failed_.load() != 0) return;
  const TaskSeq bad = context_->failed();  // as the device says, and before what the host has to say
  if (bad != 0) error = "task " + std::to_string(bad) + ": a row names a slot that is not there";
  error_ = std::move(error);
  first_failed_.store(bad != 0 ? bad : seq);
}

Progress GpuQueue::progress() const {
  if (const TaskSeq bad = context_->failed(); bad != 0 && !failed()) publish_failure(bad, {});
  Progress progress;
  progress.first_failed = first_failed_.load(std::memory_order_acquire);
  if (progress.first_failed != 0) progress.error = error_;
  progress.done = context_->done();
  progress.kernel_ns = context_->kernel_ns();
  return progress;
}

bool GpuQueue::wait(TaskSeq beyond, Duration timeout) {
  const auto reached = [&] { return context_->done() > beyond || context_->failed() != 0 || failed(); };
  const auto end = Clock::now() + std::min<Duration>(timeout, kLongest);
  if (spin_until(reached, std::min<Duration>(spin(), timeout))) return true;
  auto ask = Clock::now() + kHealthEvery;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(kNap);
    if (reached()) return true;
    if (Clock::now() < ask) continue;
    if (Status ok = context_->driver().health(); !ok) {
      publish_failure(context_->done() + 1, ok.error().message);
      return true;
    }
    ask = Clock::now() + kHealthEvery;
  }
  return reached();
}

}  // namespace volvox::gpu
