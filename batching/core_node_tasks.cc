#include <algorithm>

#include "batching/core.h"
#include "batching/cost.h"

namespace volvox {

// Tasks of graph nodes. A task visits a request once: what its rows make ready and free is noted at once,
// while the request's records are in the cache, and queued for a later turn, because no node may run in the
// task that makes it ready.
//
// This is most of what scheduling a graph costs: `inline` says that the functions are called here alone.

inline void Scheduler::Core::pop_ready(GraphRun& run, NodeGroup& group) {
  group.head = run.nodes[group.head].next_ready;
  if (group.head == kNoNode) group.tail = kNoNode;
}

inline bool Scheduler::Core::slot_allows(const LiveRequest& live, std::uint32_t node) {
  const GraphRun& run = live.graph;
  if (run.growable || node == run.next || run.reserved >= run.nodes.size()) return true;
  return live.request.graph->suffix_peak(run.next) + run.ahead_count + 1 <= run.reserved;
}

// The next node in order when it is of this group, else the oldest ready one that may run ahead of its turn.
inline std::uint32_t Scheduler::Core::pick_node(LiveRequest& live, NodeGroup& group) {
  GraphRun& run = live.graph;
  if (run.live_slots == run.reserved) return kNoNode;
  while (group.head != kNoNode && run.nodes[group.head].state == NodeRun::State::kSubmitted)
    pop_ready(run, group);
  if (run.next < run.nodes.size()) {
    const NodeRun& next = run.nodes[run.next];
    if (next.state == NodeRun::State::kReady && &run.groups[next.group] == &group) return run.next;
  }
  return group.head != kNoNode && slot_allows(live, group.head) ? group.head : kNoNode;
}

inline std::uint32_t Scheduler::Core::take_slot(GraphRun& run, PoolId pool) {
  ++run.live_slots;
  ++used_slots_[pool];
  if (run.first_free != kNoNode) {
    const std::uint32_t slot = run.nodes[run.first_free].slot;
    run.first_free = run.nodes[run.first_free].next_free;
    return slot;
  }
  run.taken.push_back(pools_[pool].take());
  return run.taken.back();
}

inline void Scheduler::Core::bind_node(const LiveRequest& live, std::uint32_t v, Task& task) {
  static const RowBinding kUnbound;
  const NodeGraph& graph = *live.request.graph;
  const NodeGraph::Node& node = graph.node(v);
  const TypeConfig& type = config_.types[node.type];
  task.bindings.push_back(kUnbound);
  RowBinding& row = task.bindings.back();
  const auto first_edge = static_cast<std::uint32_t>(task.edges.size());
  for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
    const std::uint32_t slot = live.graph.nodes[edge.from].slot;
    if (edge.gather == NodeGraph::kRagged) {
      task.edges.push_back(slot);
    } else {
      row.gathers[edge.gather] = {slot, 1, 0, 0, kInitialSlot};
    }
  }
  row.ragged = {first_edge, static_cast<std::uint32_t>(task.edges.size()) - first_edge, true};
  for (std::uint32_t i = 0; i < type.pulls && node.pull_row != NodeGraph::kNoRow; ++i) {
    const PullSource& input = live.request.inputs[i];
    row.pulls[i] = {input.address + std::uint64_t{node.pull_row} * input.stride_bytes, 0};
  }
  for (std::uint32_t i = 0; i < type.pushes && node.push; ++i) {
    const PushTarget& output = live.request.outputs[i];
    row.pushes[i] = {output.address + std::uint64_t{node.push_row} * output.stride_bytes, 0};
  }
  row.out_base = live.graph.nodes[v].slot;
  row.length = 1;
}

inline void Scheduler::Core::submit_node(LiveRequest& live, std::uint32_t v, Task& task) {
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  NodeRun& node = run.nodes[v];
  node.slot = take_slot(run, graph.pool);
  node.state = NodeRun::State::kSubmitted;
  if (v != run.next) {
    node.ahead = true;
    ++run.ahead_count;
  }
  const auto end = static_cast<std::uint32_t>(run.nodes.size());
  while (run.next < end && run.nodes[run.next].state == NodeRun::State::kSubmitted) {
    if (run.nodes[run.next].ahead) --run.ahead_count;
    run.nodes[run.next++].ahead = false;
  }
  bind_node(live, v, task);
  ++task.rows;
  for (std::uint32_t next : graph.successors(v)) {
    if (--run.nodes[next].open_predecessors == 0) newly_ready_.push_back(next);
  }
  if (run.growable) return;
  for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
    if (--run.nodes[edge.from].open_readers == 0) newly_free_.push_back(edge.from);
  }
  if (node.open_readers == 0) newly_free_.push_back(v);
}

// Whether the node's predecessors fit into the task beside those of the rows before it.
inline bool Scheduler::Core::edges_fit(const LiveRequest& live, std::uint32_t node, const Task& task) const {
  const NodeGraph& graph = *live.request.graph;
  const auto edges = graph.predecessors(node);
  const std::size_t most = config_.types[graph.node(node).type].max_edges;
  if (task.edges.size() + edges.size() <= most) return true;
  const auto listed = std::count_if(edges.begin(), edges.end(), [](const NodeGraph::Edge& edge) {
    return edge.gather == NodeGraph::kRagged;
  });
  return task.edges.size() + static_cast<std::size_t>(listed) <= most;
}

inline Scheduler::Core::Taken Scheduler::Core::take_nodes(std::uint32_t index, NodeGroup& group,
                                                          std::uint32_t rows, Task& task,
                                                          TaskRecord& record) {
  LiveRequest& live = requests_[index];
  const std::uint32_t before = task.rows;
  bool room = true;
  open_graph(live);
  newly_ready_.clear();
  newly_free_.clear();
  while (task.rows < rows && group.count > 0) {
    const std::uint32_t node = pick_node(live, group);
    if (node == kNoNode) break;
    room = task.edges.empty() || edges_fit(live, node, task);
    if (!room) break;
    if (task.rows == before) claim(index, record.worker);
    submit_node(live, node, task);
    if (node == group.head) pop_ready(live.graph, group);
    if (live.request.graph->node(node).watch) record.nodes.push_back({index, 0, node});
    --group.count;
  }
  if (task.rows == before) return room ? Taken::kNoSlot : Taken::kNoRoom;
  touch(index, record, task.rows - before);
  return Taken::kSome;
}

inline void Scheduler::Core::free_node_slot(GraphRun& run, std::uint32_t v, PoolId pool) {
  NodeRun& node = run.nodes[v];
  node.next_free = run.first_free;
  run.first_free = v;
  if (node.ahead) --run.ahead_count;
  node.ahead = false;
  --run.live_slots;
  --used_slots_[pool];
}

// What the request's rows in the task made free or ready counts from the next task on.
inline void Scheduler::Core::settle_nodes(GraphRun& run, PoolId pool) {
  for (std::uint32_t v : newly_free_) free_node_slot(run, v, pool);
  for (std::uint32_t v : newly_ready_) make_ready(run, v);
}

// `visited`: the group that was taken from. It goes to the end of its queue, unless the task had no room for
// the rest of it.
inline void Scheduler::Core::requeue(std::uint32_t index, NodeGroup& visited, bool keeps_its_place) {
  if (visited.count == 0) {
    queues_.erase(visited.entry);
    visited.entry = kNoEntry;
  } else if (keeps_its_place) {
    queues_.set_ready(visited.entry, visited.count);
  } else {
    queues_.requeue(visited.entry, visited.count, now_);
  }
  for (NodeGroup& group : requests_[index].graph.groups) {
    if (&group != &visited) queue_group(index, group);
  }
}

// Requests lie scattered in memory, and a task takes a node or two of each: the records of the next ones are
// fetched while this one's are worked on.
inline void Scheduler::Core::fetch_ahead(EntryId next) const {
  if (next == kNoEntry) return;
  const LiveRequest& live = requests_[queues_[next].request];
  __builtin_prefetch(live.graph.nodes.data());
  __builtin_prefetch(live.request.graph.get());
  const EntryId after = queues_[next].next;
  if (after == kNoEntry) return;
  const LiveRequest& later = requests_[queues_[after].request];
  __builtin_prefetch(&later.request.graph);
  __builtin_prefetch(&later.graph);
}

bool Scheduler::Core::form_nodes(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const BatchSize size = choose_batch_size(type, std::min(choice.rows, ready(choice.type, worker)));
  queues_.begin_turn();
  while (task.rows < size.rows) {
    const EntryId id = queues_.first_of_earlier(choice.type, worker);
    if (id == kNoEntry) break;
    fetch_ahead(queues_[id].next);
    const std::uint32_t index = queues_[id].request;
    NodeGroup& group = requests_[index].graph.groups[queues_[id].item];
    const Taken taken = take_nodes(index, group, size.rows, task, record);
    if (taken == Taken::kSome) {
      const bool keeps_its_place = group.count > 0 && task.rows == size.rows;
      settle_nodes(requests_[index].graph, requests_[index].request.graph->pool);
      requeue(index, group, keeps_its_place);
    } else if (taken == Taken::kNoRoom) {
      break;
    } else {  // waits for a slot: queued again with what the request's next task makes ready
      queues_.erase(id);
      group.entry = kNoEntry;
    }
  }
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  totals_.cells += task.rows;
  return task.rows > 0;
}

}  // namespace volvox
