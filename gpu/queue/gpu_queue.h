#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/task_ring.h"
#include "gpu/queue/queue_context.h"

namespace volvox::gpu {

// What a queue asks of its device.
class CopyChecker {
 public:
  virtual ~CopyChecker() = default;
  virtual Status check_copies(Device& from, std::span<const SlotCopy> copies,
                              std::vector<ReadyCopy>& ready) = 0;
};

// A queue on a GPU. The worker's thread only puts tasks into a ring; a launcher thread encodes what is there,
// gives it to the device in one group and goes on. Nobody waits for a stream: the device writes the number of
// the last finished task into memory of the host, where wait() looks for it, first spinning, then asleep
// between looks. When the device breaks, the queue fails and says why.
// The device must outlive the queue.
class GpuQueue final : public Queue {
 public:
  GpuQueue(const QueueConfig& config, std::unique_ptr<QueueContext> context, CopyChecker& copies,
           std::function<void(QueueContext*)> closed);
  ~GpuQueue() override;

  Status submit(const Task& task) override;
  Status copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) override;
  Progress progress() const override;
  bool wait(TaskSeq beyond, Duration timeout) override;

 private:
  // A task, or copies when `task` is null.
  struct Entry {
    const Task* task = nullptr;
    std::vector<ReadyCopy> copies;
  };

  Status check(const Task& task) const;
  bool failed() const { return first_failed_.load(std::memory_order_acquire) != 0; }

  // Launcher.
  void serve();
  Status accept(const Entry& entry);
  Status take(const Task& task);
  Status await_all();
  void fail_after_others(TaskSeq seq, const Error& error);
  void publish_failure(TaskSeq seq, std::string error) const;

  const QueueConfig config_;
  const std::unique_ptr<QueueContext> context_;
  CopyChecker& copies_;
  const std::function<void(QueueContext*)> closed_;
  TaskSeq last_ = 0;   // submitted
  TaskSeq taken_ = 0;  // the launcher's: given to the device
  std::atomic<bool> closing_{false};
  mutable std::mutex mutex_;  // guards error_ until first_failed_ is set
  mutable std::string error_;
  mutable std::atomic<TaskSeq> first_failed_{0};
  TaskRing<Entry> ring_;
  std::thread launcher_;  // last: it uses all of the above
};

}  // namespace volvox::gpu
