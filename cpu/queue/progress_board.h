#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "device/device.h"

namespace volvox::cpu {

// What an executor has done, for its worker to read at any time without a lock, and to sleep on. One thread
// writes, one reads.
class ProgressBoard {
 public:
  // Executor.
  void add_kernel_ns(std::uint64_t wall_ns);
  void set_cpu_kernel_ns(std::uint64_t ns) { cpu_kernel_ns_.store(ns, std::memory_order_relaxed); }
  void publish_done(TaskSeq seq);
  void publish_failure(TaskSeq seq, std::string error);

  // Worker.
  Progress read() const;
  TaskSeq done() const { return done_.load(std::memory_order_acquire); }
  bool failed() const { return first_failed_.load(std::memory_order_acquire) != 0; }
  // As Queue::wait(): spins for a moment, then sleeps.
  bool wait(TaskSeq beyond, Duration timeout);

 private:
  void ring();

  std::atomic<TaskSeq> done_{0};
  std::atomic<TaskSeq> first_failed_{0};
  std::string error_;  // written before first_failed_, never after
  std::atomic<std::uint64_t> kernel_ns_{0}, cpu_kernel_ns_{0};
  std::atomic<bool> waiting_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace volvox::cpu
