#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "batching/policy/policy.h"
#include "batching/request.h"
#include "batching/scheduler.h"
#include "batching/scheduler_config.h"
#include "device/device.h"

namespace volvox {

// What the engine executed of one cell type, counted when tasks completed.
struct TypeTotals {
  std::uint64_t tasks = 0;
  std::uint64_t rows = 0;           // real ones
  std::uint64_t executed_rows = 0;  // padding included
};

// A scheduler and a device are useful only with somebody who carries tasks from one to the other. In
// production those are actors; the engine is the smallest such shell: one thread, one device, a queue for
// each worker. The bench and the system tests of scheduler and device run on it.
//
// Owns the scheduler and the queues; the device, and what requests point to, must outlive it. One thread
// calls.
class Engine {
 public:
  using Clock = std::function<TimePoint()>;

  // Opens a queue for each of config.workers. Without a clock, the steady one.
  static Result<std::unique_ptr<Engine>> make(Device& device, SchedulerConfig config,
                                              std::unique_ptr<Policy> policy, const QueueConfig& queue,
                                              Clock clock = {});
  ~Engine();

  AdmitResult admit(Request request);
  void cancel(RequestId id, std::vector<Event>& out);

  // Takes in what is done, submits what can run, and, when neither was anything, waits for the device: at
  // most `timeout`, and not past the scheduler's next wakeup. Appends events. A failed queue is replaced by a
  // fresh one after its requests have failed; an error means that this was not possible.
  Status turn(Duration timeout, std::vector<Event>& out);
  // Turns until nothing is live. Fails when that takes longer than `limit`.
  Status drain(Duration limit, std::vector<Event>& out);

  TimePoint now() const { return clock_(); }
  Scheduler& scheduler() { return *scheduler_; }
  const std::vector<TypeTotals>& totals() const { return totals_; }  // by cell type
  // Wall and CPU time inside kernels so far, all queues together.
  Progress kernel_time() const;
  // CPU time of its thread so far while it waited for queues: spinning, and falling asleep.
  std::uint64_t waiting_cpu_ns() const { return waiting_cpu_ns_; }
  // Why the last failed queue failed; empty when none has.
  const std::string& last_failure() const { return last_failure_; }

 private:
  struct Worker {
    std::unique_ptr<Queue> queue;
    std::deque<BatchedTask> in_flight;
    TaskSeq done = 0;
    std::uint64_t kernel_ns = 0;  // as of the last look
    double task_ns = 0;           // of the last tasks, smoothed
  };

  Engine(Device& device, SchedulerConfig config, std::unique_ptr<Policy> policy, const QueueConfig& queue,
         Clock clock);
  Status open(Worker& worker);
  Result<bool> collect(WorkerId id, std::vector<Event>& out);
  Result<bool> submit(WorkerId id);
  Status replace(WorkerId id, const Progress& progress, std::vector<Event>& out);
  void retire(Worker& worker, TaskSeq up_to, bool count);
  static void note_pace(Worker& worker, const Progress& progress);
  static TaskSeq worth_waking_for(const Worker& worker);
  void wait(Duration timeout);

  Device& device_;
  QueueConfig queue_config_;
  Clock clock_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Worker> workers_;
  std::vector<TypeTotals> totals_;
  std::vector<BatchedTask> tasks_;
  Progress kernel_time_of_replaced_;
  std::uint64_t waiting_cpu_ns_ = 0;
  std::string last_failure_;
};

// Queues that suit this configuration.
QueueConfig queue_config(const SchedulerConfig& config, std::uint32_t threads);

}  // namespace volvox
