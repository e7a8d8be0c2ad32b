#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "batching/balance.h"
#include "batching/due_list.h"
#include "batching/graphs/graph_batcher.h"
#include "batching/lanes/lane_batcher.h"
#include "batching/model_loads.h"
#include "batching/pins.h"
#include "batching/policy/policy.h"
#include "batching/ready_frontier.h"
#include "batching/ready_queues.h"
#include "batching/request.h"
#include "batching/request_check.h"
#include "batching/request_table.h"
#include "batching/scheduler_config.h"
#include "batching/scheduler_stats.h"
#include "batching/state_slots.h"
#include "batching/waiting_rooms.h"
#include "batching/worker.h"
#include "device/task.h"

namespace volvox {

// Many requests, each a graph of small cells, share one device; the device is only fast when many cells of
// one type run at once. The scheduler decides, one device for all its workers, which cells form the next
// batched task (BatchMaker §4.3, Algorithm 1, with readiness per node, queueing per type and pinning per
// request kept apart: docs/architecture.md). It owns the parts that keep slots, queues and pins and that form
// tasks, and says in which order they act; the policy only chooses.
//
// Pure: no clock, no thread, no message. One thread at a time may call. Time never runs backwards.
class Scheduler final : private WaitingList {
 public:
  // The configuration must be consistent (ids dense from 0); the policy is owned.
  Scheduler(SchedulerConfig config, std::unique_ptr<Policy> policy);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // From now on requests may be of this model. A removed model's numbers may be used again; so may those of a
  // model of which nothing is live: it is removed then. Fails, without effect, when something of it is live.
  Status add_model(const ModelParts& parts);
  // Forgets the model. False, without effect, while a request of it is live. A model that is not known is
  // forgotten already.
  bool remove_model(ModelId id);
  bool has_model(ModelId id) const { return models_.has(id); }

  // Reserves the request's slots and makes its first nodes ready, or lets it wait: for slots, for its
  // client's turn, or for its inputs. On kNeverFits and kFull nothing is kept.
  AdmitResult admit(Request&& request, TimePoint now);
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
  // Of a task in flight: whoever leaves may become known while it runs, so it is best asked last.
  const TaskCompany& company(WorkerId worker, TaskSeq seq) const {
    return workers_[worker].log.at(seq).company;
  }
  // Gives back a task that is done or failed, so that its memory serves again.
  void recycle(BatchedTask task);

  // The lane ends with step `last`: later ones are not reported, though those in flight may still write their
  // rows of a result. A lane that follows it step by step must be stopped before. Too late, and without
  // effect, when its own last step was submitted. Unknown ids are ignored.
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

  const Frontier& frontier() const { return frontier_; }
  SchedulerStats stats() const;
  bool idle() const { return requests_.live() == 0 && in_flight() == 0; }  // nothing live, nothing in flight

 private:
  // WaitingList
  std::size_t size() const override { return rooms_.size(); }
  std::size_t admit_in_order() override;
  std::size_t admit_group(const std::vector<RequestId>& ids, WorkerId worker, const Lengths& pad_to) override;
  const Request& look_at(RequestId id) const override { return requests_[id.index].request; }

  // Models
  void learn(const ModelConfig& model);
  bool make_way(const ModelParts& parts);
  void make_room(const ModelParts& parts);

  // Requests that come
  void set_clocks(std::uint32_t index);
  void start_waiting(std::uint32_t index);
  void stop_waiting(std::uint32_t index);
  void admit_waiting();
  void enter(std::uint32_t index);
  WaitingRequest describe(std::uint32_t index) const;

  // Tasks
  bool has_room(const Worker& worker) const;
  bool form(WorkerId worker, Choice choice, std::vector<BatchedTask>& out);
  BatchedTask take_task();
  void finish_task(const TaskRecord& record, std::vector<Event>& out);
  std::vector<std::uint32_t> requests_in(WorkerId worker, TaskSeq from) const;
  std::uint32_t in_flight() const;

  // Requests that end
  void settle(std::uint32_t index, std::vector<Event>& out);
  void withdraw(std::uint32_t index);
  void end_early(RequestId id, LiveRequest::Outcome outcome, std::vector<Event>& out);
  void finalise(std::uint32_t index, Event::Kind kind, std::vector<Event>& out);
  Event event_for(std::uint32_t index, Event::Kind kind) const;

  // Time
  void grow_older();
  void raise(std::uint32_t index);

  SchedulerConfig config_;
  std::unique_ptr<Policy> policy_;
  const bool policy_watches_;
  TimePoint now_{};  // of the call that runs

  RequestTable requests_;
  ModelLoads models_;
  StateSlots slots_;
  WaitingRooms rooms_;
  LaneFrontiers lane_frontiers_;
  ReadyQueues queues_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> running_;  // tasks in flight, by type
  std::vector<TaskRows> rows_;          // by type
  DueList deadlines_, ageing_;
  SchedulerStats totals_;
  std::vector<BatchedTask> spare_tasks_;

  Pins pins_;
  LaneBatcher lanes_;
  GraphBatcher graphs_;
  ReadyFrontier frontier_;
  Balance balance_;
};

}  // namespace volvox
