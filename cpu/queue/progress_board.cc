#include "cpu/queue/progress_board.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/spin.h"

namespace volvox::cpu {
namespace {

// Shorter than a team's: the waiting thread may be holding a core that the kernels could use.
constexpr std::chrono::microseconds kSpin{5};
// Longer timeouts would overflow the clock.
constexpr std::chrono::hours kLongest{1000};

}  // namespace

void ProgressBoard::add_kernel_ns(std::uint64_t wall_ns) {
  kernel_ns_.store(kernel_ns_.load(std::memory_order_relaxed) + wall_ns, std::memory_order_relaxed);
}

void ProgressBoard::publish_done(TaskSeq seq) {
  done_.store(seq);
  ring();
}

void ProgressBoard::publish_failure(TaskSeq seq, std::string error) {
  error_ = std::move(error);
  first_failed_.store(seq);
  ring();
}

void ProgressBoard::ring() {
  // The worker says that it waits before it looks a last time.
  if (!waiting_.load()) return;
  // Not notified under the lock: woken on this core, it would wait there for this thread to give that up.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_one();
}

Progress ProgressBoard::read() const {
  Progress progress;
  progress.first_failed = first_failed_.load(std::memory_order_acquire);
  if (progress.first_failed != 0) progress.error = error_;
  progress.done = done();
  progress.kernel_ns = kernel_ns_.load(std::memory_order_relaxed);
  progress.cpu_kernel_ns = cpu_kernel_ns_.load(std::memory_order_relaxed);
  return progress;
}

bool ProgressBoard::wait(TaskSeq beyond, Duration timeout) {
  const auto reached = [&] { return done_.load() > beyond || first_failed_.load() != 0; };
  const auto end = std::chrono::steady_clock::now() + std::min<Duration>(timeout, kLongest);
  if (spin_until(reached, std::min<Duration>(kSpin, timeout))) return true;
  std::unique_lock lock(mutex_);
  waiting_.store(true);
  const bool in_time = changed_.wait_until(lock, end, reached);
  waiting_.store(false);
  return in_time;
}

}  // namespace volvox::cpu
