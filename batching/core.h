#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "batching/cohort.h"
#include "batching/due_list.h"
#include "batching/live_request.h"
#include "batching/range_allocator.h"
#include "batching/ready_queues.h"
#include "batching/scheduler.h"
#include "batching/task_log.h"
#include "batching/waiting_rooms.h"

namespace volvox {

// The scheduler's state and its moves, by subject: models that come and go (core_models.cc), admission
// (core_admission.cc), lanes (core_lanes.cc),
// graph nodes (core_nodes.cc, core_node_tasks.cc), forming tasks (core_tasks.cc), completion, failure and
// cancellation (core_completion.cc), deadlines and ageing (core_time.cc), tasks that do not end
// (core_stall.cc), balance between workers (core_balance.cc).
class Scheduler::Core final : public Frontier, public WaitingList {
 public:
  Core(SchedulerConfig config, std::unique_ptr<Policy> policy);

  Status add_model(const ModelParts& parts);
  bool remove_model(ModelId id);
  bool has_model(ModelId id) const { return id < models_.size() && models_[id].present; }
  AdmitResult submit(Request request, TimePoint now);
  void inputs_landed(RequestId id, TimePoint now);
  void schedule(WorkerId worker, TimePoint now, std::vector<BatchedTask>& out);
  void complete(WorkerId worker, TaskSeq up_to, TimePoint now, std::vector<Event>& out);
  void fail(WorkerId worker, TaskSeq first_bad, TimePoint now, std::vector<Event>& out);
  void recycle(BatchedTask task);
  void stop(RequestId id, LaneId lane, Step last, TimePoint now, std::vector<Event>& out);
  Status extend(RequestId id, GraphDelta delta, TimePoint now);
  void cancel(RequestId id, TimePoint now, std::vector<Event>& out);
  void expire(TimePoint now, std::vector<Event>& out);
  void suspend(WorkerId worker, TimePoint now, std::vector<Event>& out);
  std::optional<TimePoint> next_wakeup() const;
  SchedulerStats stats() const;
  bool idle() const { return live_ == 0 && in_flight_total() == 0; }

  // Frontier
  std::uint32_t ready(CellTypeId type, WorkerId worker) const override;
  std::uint32_t ready(CellTypeId type, WorkerId worker, PriorityClass priority) const override;
  std::uint32_t running(CellTypeId type) const override { return running_[type]; }
  std::optional<TimePoint> waiting_since(CellTypeId type, WorkerId worker) const override;
  std::uint32_t in_flight(WorkerId worker) const override { return workers_[worker].log.in_flight(); }
  bool anything_ready(WorkerId worker) const override;

  // WaitingList
  std::size_t size() const override { return rooms_.size(); }
  std::size_t admit_in_order() override;
  std::size_t admit_group(const std::vector<RequestId>& ids, WorkerId worker, std::uint32_t pad_to) override;

 private:
  struct Worker {
    TaskLog log;
    std::vector<Cohort> cohorts;    // by type
    std::uint32_t cohort_rows = 0;  // in all of them
    bool suspended = false;         // gets no tasks
  };
  // What one model's requests do, and what they cost.
  struct ModelLoad {
    bool present = false;
    std::uint32_t max_waiting = 0;
    std::uint32_t live = 0, waiting = 0;
    double device_us = 0;
  };
  // How far a lane may go before another lane of its request must move: see bound().
  struct Bound {
    std::uint32_t allowed = 0;  // steps that may have been submitted
    std::uint8_t blocker = LaneEdge::kNone;
    std::uint32_t needed = 0;  // steps that the blocker must have submitted for `want` more
    void limit(std::int64_t at_most, std::uint8_t lane, std::int64_t lane_needs);
  };

  // Models
  bool make_way(const ModelParts& parts);
  void make_room(const ModelParts& parts);
  void note_model(const ModelConfig& model);

  // Admission
  std::optional<std::string> check(const Request& request) const;
  std::optional<std::string> check_lanes(const Request& request) const;
  std::optional<std::string> check_carried(const Request& request) const;
  std::optional<std::string> check_graph(const Request& request) const;
  std::uint32_t take_record(Request&& request);
  bool reserve(std::uint32_t index);
  bool reserve_lanes(LiveRequest& live);
  bool reserve_slots(LaneRun& run, const LaneSpec& spec, const CarriedLane* carried);
  void release_lane(const LaneRun& run, const LaneSpec& spec);
  bool reserve_graph(LiveRequest& live);
  void release_slots(LiveRequest& live);
  void enter(std::uint32_t index);
  void release(std::uint32_t index);
  void start_waiting(std::uint32_t index);
  void stop_waiting(std::uint32_t index);
  void note_pool(PoolId pool, ModelId model);
  void admit_waiting();
  WaitingRequest describe(std::uint32_t index) const;
  LiveRequest* find(RequestId id);

  // Lanes
  const LaneSpec& spec(LaneRef ref) const;
  LaneRun& lane(LaneRef ref) { return requests_[request_of(ref)].lanes[lane_of(ref)]; }
  Cohort& cohort_of(LaneRef ref) { return workers_[requests_[request_of(ref)].home].cohorts[spec(ref).type]; }
  std::uint32_t cursor(LaneRef ref);
  Bound bound(LaneRef ref, std::uint32_t want);
  void bound_by_producer(Bound& bound, LaneRef ref, const LaneEdge& edge, std::uint32_t target);
  std::uint32_t wanted_steps(LaneRef ref);
  void activate(LaneRef ref);
  void arm(std::uint32_t request, std::uint8_t lane, std::uint32_t needed);
  void wake_others(std::uint32_t request);
  void enqueue_lane(LaneRef ref, std::uint32_t ready, bool front);
  RowBinding bind(LaneRef ref) const;
  bool form_cohort(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);
  void seat_joiners(WorkerId worker, CellTypeId type, std::uint32_t capacity, Task& task);
  bool evict_for(WorkerId worker, CellTypeId type, PriorityClass priority);
  void park(LaneRef ref, bool front);
  void leave_cohort(LaneRef ref);
  void note_next_event(LaneRef ref, Cohort& cohort);
  void look_at_due(WorkerId worker, Task& task, TaskRecord& record);
  bool look_at(LaneRef ref, Task& task, TaskRecord& record);
  void report_steps(const Cohort& cohort, TaskRecord& record);
  bool form_spans(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);
  std::uint32_t take_span(LaneRef ref, std::uint32_t room, Task& task, TaskRecord& record);
  void end_lane(LaneRef ref, TaskRecord& record);

  // Graph nodes
  void enter_graph(std::uint32_t index);
  void open_graph(LiveRequest& live);
  void add_groups(GraphRun& run, const NodeGraph& graph);
  static void make_ready(GraphRun& run, std::uint32_t v);
  void queue_groups(std::uint32_t index);
  void queue_group(std::uint32_t index, NodeGroup& group);
  void push_group(std::uint32_t index, NodeGroup& group);
  bool form_nodes(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);
  void fetch_ahead(EntryId next) const;
  enum class Taken : std::uint8_t { kSome, kNoSlot, kNoRoom };  // rows; none as no slot is free, or for edges
  Taken take_nodes(std::uint32_t index, NodeGroup& group, std::uint32_t rows, Task& task, TaskRecord& record);
  bool edges_fit(const LiveRequest& live, std::uint32_t node, const Task& task) const;
  static std::uint32_t pick_node(LiveRequest& live, NodeGroup& group);
  static void pop_ready(GraphRun& run, NodeGroup& group);
  std::uint32_t take_slot(GraphRun& run, PoolId pool);
  static bool slot_allows(const LiveRequest& live, std::uint32_t node);
  void submit_node(LiveRequest& live, std::uint32_t v, Task& task);
  void bind_node(const LiveRequest& live, std::uint32_t v, Task& task);
  void settle_nodes(GraphRun& run, PoolId pool);
  void free_node_slot(GraphRun& run, std::uint32_t v, PoolId pool);
  void requeue(std::uint32_t index, NodeGroup& visited, bool keeps_its_place);

  // Tasks
  bool has_room(const Worker& worker) const;
  bool form(WorkerId worker, Choice choice, std::vector<BatchedTask>& out);
  BatchedTask take_task();
  void touch(std::uint32_t index, TaskRecord& record, std::uint32_t nodes);
  void claim(std::uint32_t index, WorkerId worker);
  void set_home(std::uint32_t index, WorkerId worker);

  // Completion
  void finish_task(TaskRecord& record, std::vector<Event>& out);
  void settle(std::uint32_t index, std::vector<Event>& out);
  void let_go(std::uint32_t index);
  void withdraw(std::uint32_t index);
  void finalise(std::uint32_t index, Event::Kind kind, std::vector<Event>& out);
  void end_early(RequestId id, LiveRequest::Outcome outcome, std::vector<Event>& out);
  Event event_for(std::uint32_t index, Event::Kind kind) const;
  bool in_flight_request(const LiveRequest& live) const;
  void collect_failed(WorkerId worker, TaskSeq first_bad, std::vector<std::uint32_t>& failed);
  std::uint32_t in_flight_total() const;

  // Time
  bool is_live(RequestId id) const;
  void set_clocks(std::uint32_t index);
  void grow_older();
  void raise(std::uint32_t index);

  // Stalls
  void empty_cohorts(Worker& worker);

  // Balance
  bool balance(WorkerId worker);
  std::uint32_t backlog(WorkerId worker) const;
  std::uint32_t steal_unpinned(WorkerId from, WorkerId to, std::uint32_t at_most);
  void drain_youngest(WorkerId from, std::uint32_t rows);

  SchedulerConfig config_;
  std::unique_ptr<Policy> policy_;
  TimePoint now_{};
  std::vector<LiveRequest> requests_;
  std::vector<std::uint32_t> unused_;
  std::vector<RangeAllocator> pools_;
  std::vector<std::uint32_t> used_slots_;  // by pool: of what is reserved, what holds a state
  std::vector<ModelId> pool_models_;       // by pool: whose requests it holds
  bool pools_are_shared_ = false;          // some pool by requests of several models
  ReadyQueues queues_;
  std::vector<Worker> workers_;
  std::vector<ModelLoad> models_;
  std::vector<std::uint32_t> running_;  // tasks in flight, by type
  enum class Form : std::uint8_t { kUnknown, kLanes, kNodes };
  std::vector<Form> form_;  // by type: what its tasks are made of
  const bool policy_watches_;
  WaitingRooms rooms_;
  DueList deadlines_, ageing_;
  std::uint32_t live_ = 0;
  SchedulerStats totals_;
  std::vector<BatchedTask> spare_tasks_;
  std::vector<LaneRef> due_, moved_on_;  // scratch
  std::uint32_t largest_graph_ = 0;      // seen so far: records reserve as much, within reason
  std::vector<std::uint32_t> newly_ready_, newly_free_;  // scratch: nodes of the request that is visited
};

}  // namespace volvox
