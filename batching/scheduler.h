#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "batching/policy.h"
#include "batching/request.h"
#include "batching/scheduler_config.h"
#include "device/task.h"

namespace volvox {

// Nodes added to a request that runs: appended to its graph, which must have been finished() again.
struct GraphDelta {
  std::shared_ptr<const NodeGraph> graph;  // the old nodes, unchanged, then the new ones
};

// Counters since the start; gauges as of now.
struct SchedulerStats {
  std::uint64_t tasks = 0, cells = 0, rows_executed = 0, rows_padding = 0, rows_moved = 0;
  std::uint64_t requests_done = 0, requests_failed = 0, requests_cancelled = 0, requests_expired = 0;
  std::uint32_t live_requests = 0, waiting_requests = 0;
  struct PerType {
    CellTypeId id = 0;
    std::uint64_t tasks = 0, rows = 0, padding = 0;
    std::uint32_t ready = 0, running = 0;
  };
  std::vector<PerType> types;
  struct PerPool {
    PoolId id = 0;
    std::uint32_t slots = 0, reserved = 0, used = 0;
  };
  std::vector<PerPool> pools;
  struct PerModel {
    ModelId id = 0;
    std::uint32_t live = 0, waiting = 0;  // requests; of those, the ones of which nothing was submitted yet
    double device_us = 0;                 // estimated cost of its tasks so far
  };
  std::vector<PerModel> models;
};

// Many requests, each a graph of small cells, share one device; the device is only fast when many cells of
// one type run at once. The scheduler decides, one device for all its workers, which cells form the next
// batched task (BatchMaker §4.3, Algorithm 1, with readiness per node, queueing per type and pinning per
// request kept apart: DESIGN §3.1-3.5). It owns readiness, slots, pins and queues; the policy only chooses.
//
// Pure: no clock, no thread, no message. One thread at a time may call. Time never runs backwards.
class Scheduler {
 public:
  // The configuration must be consistent (ids dense from 0); the policy is owned.
  Scheduler(SchedulerConfig config, std::unique_ptr<Policy> policy);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // From now on requests may be of this model. A removed model's numbers may be used again; so may those of a
  // model of which nothing is live: it is removed then. Fails, without effect, when something of it is live.
  Status add_model(const ModelParts& parts);
  // Forgets the model. False, without effect, while a request of it is live. A model that is not known is
  // forgotten already.
  bool remove_model(ModelId id);
  bool has_model(ModelId id) const;

  // Reserves the request's slots and makes its first nodes ready, or lets it wait. On kNeverFits and kFull
  // nothing is kept.
  AdmitResult admit(Request request, TimePoint now);
  // The request's inputs can be read by the device.
  void inputs_landed(RequestId id, TimePoint now);

  // Appends the next tasks for the worker, at most max_tasks_to_submit in flight. Their nodes count as
  // submitted: the caller submits them to the worker's queue in this order, without fail.
  void schedule(WorkerId worker, TimePoint now, std::vector<BatchedTask>& out);
  // All tasks of the worker up to `up_to` are done.
  void complete(WorkerId worker, TaskSeq up_to, TimePoint now, std::vector<Event>& out);
  // The worker's tasks from `first_bad` on failed. Those before it must have been completed. Later tasks
  // number on and bind every row anew, so that the caller may go on with a fresh queue.
  void fail(WorkerId worker, TaskSeq first_bad, TimePoint now, std::vector<Event>& out);
  // Gives back a task that is done or failed, so that its memory serves again.
  void recycle(BatchedTask task);

  // The lane ends with step `last`; later steps that are in flight push nothing. Unknown ids are ignored.
  void stop(RequestId id, LaneId lane, Step last, TimePoint now, std::vector<Event>& out);
  // The request's graph grows. Fails when it has grown past Request::max_nodes, or is not this graph's.
  Status extend(RequestId id, GraphDelta delta, TimePoint now);
  // The request runs no further task. Its event comes now, or when its tasks in flight are done.
  void cancel(RequestId id, TimePoint now, std::vector<Event>& out);

  // The requests whose deadline has passed run no further task, as if cancelled. To be called before
  // schedule().
  void expire(TimePoint now, std::vector<Event>& out);
  // A task of the worker does not end: the requests with a row in flight there have failed, and everything
  // that its tasks may touch stays reserved; all others may run elsewhere. The worker gets no tasks until
  // complete() or fail() tells how those that it has ended.
  void suspend(WorkerId worker, TimePoint now, std::vector<Event>& out);

  // When expire() or schedule() may do something although nothing was completed or admitted meanwhile.
  std::optional<TimePoint> next_wakeup() const;

  const Frontier& frontier() const;
  SchedulerStats stats() const;
  bool idle() const;  // nothing live, nothing in flight

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace volvox
