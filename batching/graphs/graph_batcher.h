#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "batching/pins.h"
#include "batching/policy/policy.h"
#include "batching/request_check.h"
#include "batching/scheduler_stats.h"
#include "batching/state_slots.h"

namespace volvox {

// Nodes added to a request that runs: appended to its graph, which must have been finished() again.
struct GraphDelta {
  std::shared_ptr<const NodeGraph> graph;  // the old nodes, unchanged, then the new ones
};

// Forms tasks of the nodes of graph requests: one count of open predecessors a node, ready lists by type, and
// slots taken from what the pool promised the request.
//
// A reservation may be smaller than the number of nodes. Running the nodes in their order never needs more
// than suffix_peak(next) slots; a node that runs ahead of its turn holds one more until its turn has passed.
// So a node may run ahead as long as the slots that it and the others ahead hold are spare, and the next node
// in order can always run: no request can block itself.
//
// Not thread-safe; `now` is the time of the call that the scheduler is in.
class GraphBatcher {
 public:
  GraphBatcher(const SchedulerConfig& config, RequestTable& requests, ReadyQueues& queues, StateSlots& slots,
               Pins& pins, std::vector<TaskRows>& rows, SchedulerStats& totals, const TimePoint& now)
      : config_(config),
        requests_(requests),
        queues_(queues),
        slots_(slots),
        pins_(pins),
        rows_(rows),
        totals_(totals),
        now_(now) {}

  // The request, which has its reservation, runs from now on.
  void enter(std::uint32_t request);
  // Queues what is ready.
  void wake(std::uint32_t request);
  Status extend(std::uint32_t request, GraphDelta delta);
  // Takes rows of the type that are ready for the worker. False: there was nothing that has a slot.
  bool form(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record);

  // The request ends early: its nodes leave the queues for good.
  void withdraw(std::uint32_t request);
  void change_class(std::uint32_t request, PriorityClass to);

 private:
  void open(LiveRequest& live);
  void add_groups(GraphRun& run, const NodeGraph& graph);
  static void make_ready(GraphRun& run, std::uint32_t v);
  void queue(std::uint32_t request, NodeGroup& group);
  void push(std::uint32_t request, NodeGroup& group);
  void requeue(std::uint32_t request, GraphRun& run, NodeGroup& visited, bool keeps_its_place);

  enum class Taken : std::uint8_t { kSome, kNoSlot, kNoRoom };  // rows; none as no slot is free, or for edges
  Taken take_nodes(std::uint32_t request, LiveRequest& live, NodeGroup& group, std::uint32_t rows, Task& task,
                   TaskRecord& record);
  static std::uint32_t pick_node(LiveRequest& live, NodeGroup& group);
  static bool slot_allows(const LiveRequest& live, std::uint32_t node);
  static void pop_ready(GraphRun& run, NodeGroup& group);
  bool edges_fit(const LiveRequest& live, std::uint32_t node, const Task& task) const;
  void submit_node(LiveRequest& live, std::uint32_t v, Task& task);
  void note_ready(GraphRun& run, std::uint32_t v);
  void note_free(GraphRun& run, std::uint32_t v);
  void bind_node(const LiveRequest& live, std::uint32_t v, Task& task);
  void settle_nodes(GraphRun& run);

  const SchedulerConfig& config_;
  RequestTable& requests_;
  ReadyQueues& queues_;
  StateSlots& slots_;
  Pins& pins_;
  std::vector<TaskRows>& rows_;
  SchedulerStats& totals_;
  const TimePoint& now_;
  std::uint32_t largest_ = 0;  // graph seen so far: records reserve as much, within reason
  // What the visit of a request has made ready, oldest first, and free: chains of its nodes.
  std::uint32_t newly_ready_ = kNoNode, last_ready_ = kNoNode, newly_free_ = kNoNode;
};

}  // namespace volvox
