#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "device/timed_device.h"

namespace volvox {

// A queue of the timed device: its thread takes the tasks in order, computes what is cheap, and sleeps until
// the task's time is over.
class TimedQueue final : public Queue {
 public:
  TimedQueue(TimedDevice& device, TimedCost cost, const QueueConfig& config);
  ~TimedQueue() override;

  Status submit(const Task& task) override;
  Status copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) override;
  Progress progress() const override;
  bool wait(TaskSeq beyond, Duration timeout) override;

 private:
  struct Copy {
    Device* from;
    std::vector<SlotCopy> slots;
  };
  struct Submitted {
    const Task* task;
    TimePoint at;
  };
  using Entry = std::variant<Submitted, Copy>;

  void serve();
  void perform(const Entry& entry);
  void perform_task(const Submitted& submitted);
  void perform_copy(const Copy& copy);
  Status compute(const Task& task);
  void fail_with(TaskSeq seq, const std::string& why);

  TimedDevice& device_;
  const TimedCost cost_;
  const QueueConfig config_;
  // The thread's own.
  RowTables tables_;
  ResolvedRows rows_;
  TimePoint free_at_{};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable work_, done_;
  std::deque<Entry> entries_;
  TaskSeq last_ = 0;
  Progress progress_;
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace volvox
