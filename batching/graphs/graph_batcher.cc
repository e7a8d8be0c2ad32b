#include "batching/graphs/graph_batcher.h"

#include <algorithm>
#include <utility>

#include "batching/cost.h"
#include "batching/graphs/lookahead.h"

namespace volvox {

// ---- Requests ----

// Only counts: thousands of requests may wait for their turn, and what is written per node now would be out
// of every cache by then. open() does the rest when the first node is taken.
void GraphBatcher::enter(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  live.open = graph.size();
  largest_ = std::max(largest_, graph.size());
  run.graph = graph.view();
  run.pool = graph.pool;
  run.opened = false;
  run.live_slots = 0;
  run.groups.clear();
  add_groups(run, graph);
  for (std::size_t i = 0; i < run.groups.size(); ++i) run.groups[i].count = graph.sources()[i];
  wake(index);
}

[[gnu::always_inline]] inline void GraphBatcher::make_ready(GraphRun& run, std::uint32_t v) {
  NodeRun& node = run.nodes[v];
  NodeGroup& group = run.groups[node.group];
  node.state = NodeRun::State::kReady;
  node.next_ready = kNoNode;
  (group.tail == kNoNode ? group.head : run.nodes[group.tail].next_ready) = v;
  group.tail = v;
  ++group.count;
}

void GraphBatcher::open(LiveRequest& live) {
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  if (run.opened) return;
  run.opened = true;
  run.next = run.ahead_count = 0;
  run.first_free = kNoNode;
  const std::size_t room = std::max(graph.size(), std::min(largest_, kKeptNodes));
  run.nodes.reserve(room);
  run.nodes.clear();
  run.nodes.resize(graph.size());
  for (NodeGroup& group : run.groups) group.count = 0;
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    NodeRun& node = run.nodes[v];
    node.group = graph.type_index(v);
    node.open_predecessors = static_cast<std::uint32_t>(graph.predecessors(v).size());
    node.open_readers = static_cast<std::uint32_t>(graph.successors(v).size());
    if (node.open_predecessors == 0) make_ready(run, v);
  }
}

void GraphBatcher::add_groups(GraphRun& run, const NodeGraph& graph) {
  for (std::size_t i = run.groups.size(); i < graph.types().size(); ++i) {
    run.groups.emplace_back().type = graph.types()[i];
    rows_[graph.types()[i]] = TaskRows::kNodes;
  }
}

inline void GraphBatcher::push(std::uint32_t index, NodeGroup& group) {
  const LiveRequest& live = requests_[index];
  ReadyQueues::Entry entry;
  entry.request = index;
  entry.item = static_cast<std::uint32_t>(&group - live.graph.groups.data());
  entry.type = group.type;
  entry.place = pins_.place(live);
  entry.priority = live.request.priority;
  entry.ready = group.told = group.count;
  entry.since = now_;
  group.entry = queues_.push_back(entry);
}

[[gnu::always_inline]] inline void GraphBatcher::queue(std::uint32_t index, NodeGroup& group) {
  if (group.count == 0) return;
  if (group.entry == kNoEntry) return push(index, group);
  if (group.told != group.count) queues_.set_ready(group.entry, group.told = group.count);
}

void GraphBatcher::wake(std::uint32_t index) {
  for (NodeGroup& group : requests_[index].graph.groups) queue(index, group);
}

Status GraphBatcher::extend(std::uint32_t index, GraphDelta delta) {
  LiveRequest& live = requests_[index];
  const std::uint32_t before = live.request.graph->size(), after = delta.graph->size();
  if (after < before) return invalid("the new graph has fewer nodes than the old one");
  if (after > live.request.max_nodes) return invalid("the graph grows past the request's max_nodes");
  if (live.state == LiveRequest::State::kRunning) open(live);
  live.request.graph = std::move(delta.graph);
  if (live.state == LiveRequest::State::kWaiting) return {};
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  run.graph = graph.view();
  live.open += after - before;
  run.nodes.resize(after);
  add_groups(run, graph);
  for (std::uint32_t v = before; v < after; ++v) {
    run.nodes[v].group = graph.type_index(v);
    for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
      if (run.nodes[edge.node].state != NodeRun::State::kSubmitted) ++run.nodes[v].open_predecessors;
    }
    if (run.nodes[v].open_predecessors == 0) make_ready(run, v);
  }
  wake(index);
  return {};
}

// ---- Tasks ----

// A task visits a request once: what its rows make ready and free is noted at once,
// while the request's records are in the cache, and queued for a later turn, because no node may run in the
// task that makes it ready.
//
// This is most of what scheduling a graph costs, so it becomes one function: each is called here alone.

inline void GraphBatcher::pop_ready(GraphRun& run, NodeGroup& group) {
  group.head = run.nodes[group.head].next_ready;
  if (group.head == kNoNode) group.tail = kNoNode;
}

inline bool GraphBatcher::slot_allows(const LiveRequest& live, std::uint32_t node) {
  const GraphRun& run = live.graph;
  if (run.growable || node == run.next || run.reserved >= run.nodes.size()) return true;
  return run.graph.suffix_peak(run.next) + run.ahead_count + 1 <= run.reserved;
}

// The next node in order when it is of this group, else the oldest ready one that may run ahead of its turn.
[[gnu::always_inline]] inline std::uint32_t GraphBatcher::pick_node(LiveRequest& live, NodeGroup& group) {
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

[[gnu::always_inline]] inline void GraphBatcher::bind_node(const LiveRequest& live, std::uint32_t v,
                                                           Task& task) {
  static const RowBinding kUnbound;
  const NodeGraph::View graph = live.graph.graph;
  const NodeGraph::Node& node = graph.node(v);
  const TypeConfig& type = config_.types[node.type];
  task.bindings.push_back(kUnbound);
  RowBinding& row = task.bindings.back();
  const auto first_edge = static_cast<std::uint32_t>(task.edges.size());
  for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
    const std::uint32_t slot = live.graph.nodes[edge.node].slot;
    if (edge.gather == NodeGraph::kRagged) {
      task.edges.push_back(slot);
    } else {
      row.gathers[edge.gather] = {slot, 1, 0, 0, kInitialSlot};
    }
  }
  row.ragged = {first_edge, static_cast<std::uint32_t>(task.edges.size()) - first_edge, true};
  for (std::uint32_t i = 0; i < type.pulls && node.pull_row != NodeGraph::kNoRow; ++i) {
    const PullSource& input = live.request.inputs[i];
    row.pulls[i] = {
        input.address + std::uint64_t{node.pull_row} * static_cast<std::uint32_t>(input.stride_bytes), 0};
  }
  for (std::uint32_t i = 0; i < type.pushes && node.push; ++i) {
    const PushTarget& output = live.request.outputs[i];
    row.pushes[i] = {
        output.address + std::uint64_t{node.push_row} * static_cast<std::uint32_t>(output.stride_bytes), 0};
  }
  row.out_base = live.graph.nodes[v].slot;
  row.length = 1;
}

[[gnu::always_inline]] inline void GraphBatcher::submit_node(LiveRequest& live, std::uint32_t v, Task& task) {
  GraphRun& run = live.graph;
  const NodeGraph::View graph = run.graph;
  NodeRun& node = run.nodes[v];
  slots_.take(run, node);
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
  for (const NodeGraph::Edge& next : graph.successors(v)) {
    if (--run.nodes[next.node].open_predecessors == 0) note_ready(run, next.node);
  }
  if (run.growable) return;
  for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
    if (--run.nodes[edge.node].open_readers == 0) note_free(run, edge.node);
  }
  if (node.open_readers == 0) note_free(run, v);
}

// Chained through the nodes themselves: their counts are at their ends, and those fields free.
inline void GraphBatcher::note_ready(GraphRun& run, std::uint32_t v) {
  run.nodes[v].next_ready = kNoNode;
  (newly_ready_ == kNoNode ? newly_ready_ : run.nodes[last_ready_].next_ready) = v;
  last_ready_ = v;
}

inline void GraphBatcher::note_free(GraphRun& run, std::uint32_t v) {
  run.nodes[v].next_free = newly_free_;
  newly_free_ = v;
}

// Whether the node's predecessors fit into the task beside those of the rows before it.
inline bool GraphBatcher::edges_fit(const LiveRequest& live, std::uint32_t node, const Task& task) const {
  const NodeGraph::View graph = live.graph.graph;
  const auto edges = graph.predecessors(node);
  const std::size_t most = config_.types[graph.node(node).type].max_edges;
  if (task.edges.size() + edges.size() <= most) return true;
  const auto listed = std::count_if(edges.begin(), edges.end(), [](const NodeGraph::Edge& edge) {
    return edge.gather == NodeGraph::kRagged;
  });
  return task.edges.size() + static_cast<std::size_t>(listed) <= most;
}

[[gnu::always_inline]] inline GraphBatcher::Taken GraphBatcher::take_nodes(std::uint32_t index,
                                                                           LiveRequest& live,
                                                                           NodeGroup& group,
                                                                           std::uint32_t rows, Task& task,
                                                                           TaskRecord& record) {
  const std::uint32_t before = task.rows;
  bool room = true;
  if (!live.graph.opened) open(live);
  newly_ready_ = newly_free_ = kNoNode;
  while (task.rows < rows && group.count > 0) {
    const std::uint32_t node = pick_node(live, group);
    if (node == kNoNode) break;
    room = task.edges.empty() || edges_fit(live, node, task);
    if (!room) break;
    if (task.rows == before) pins_.claim(index, record.worker, now_);
    submit_node(live, node, task);
    if (node == group.head) pop_ready(live.graph, group);
    if (live.graph.graph.node(node).watch) record.nodes.push_back({index, 0, node});
    --group.count;
  }
  if (task.rows == before) return room ? Taken::kNoSlot : Taken::kNoRoom;
  pins_.touch(index, record, task.rows - before);
  return Taken::kSome;
}

// What the request's rows in the task made free or ready counts from the next task on.
[[gnu::always_inline]] inline void GraphBatcher::settle_nodes(GraphRun& run) {
  for (std::uint32_t v = newly_free_; v != kNoNode;) {
    NodeRun& node = run.nodes[v];
    const std::uint32_t next = node.next_free;
    slots_.free(run, v);
    if (node.ahead) --run.ahead_count;
    node.ahead = false;
    v = next;
  }
  for (std::uint32_t v = newly_ready_; v != kNoNode;) {
    const std::uint32_t next = run.nodes[v].next_ready;
    make_ready(run, v);
    v = next;
  }
}

// `visited`: the group that was taken from. It goes to the end of its queue, unless the task had no room for
// the rest of it.
[[gnu::always_inline]] inline void GraphBatcher::requeue(std::uint32_t index, GraphRun& run,
                                                         NodeGroup& visited, bool keeps_its_place) {
  if (visited.count == 0) {
    queues_.erase(visited.entry);
    visited.entry = kNoEntry;
    visited.told = 0;
  } else if (keeps_its_place) {
    queues_.set_ready(visited.entry, visited.told = visited.count);
  } else {
    queues_.requeue(visited.entry, visited.told = visited.count, now_);
  }
  for (NodeGroup& group : run.groups) {
    if (group.count != group.told && &group != &visited) queue(index, group);
  }
}

bool GraphBatcher::form(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const BatchSize size =
      choose_batch_size(type, std::min(choice.rows, queues_.count_for(choice.type, worker)));
  Lookahead lookahead(queues_, requests_);
  queues_.begin_turn();
  while (task.rows < size.rows) {
    const EntryId id = queues_.first_of_earlier(choice.type, worker);
    if (id == kNoEntry) break;
    lookahead.visit(id);
    const std::uint32_t index = queues_[id].request;
    LiveRequest& live = requests_[index];
    NodeGroup& group = live.graph.groups[queues_[id].item];
    const Taken taken = take_nodes(index, live, group, size.rows, task, record);
    if (taken == Taken::kSome) {
      const bool keeps_its_place = group.count > 0 && task.rows == size.rows;
      settle_nodes(live.graph);
      requeue(index, live.graph, group, keeps_its_place);
    } else if (taken == Taken::kNoRoom) {
      break;
    } else {  // waits for a slot: queued again with what the request's next task makes ready
      queues_.erase(id);
      group.entry = kNoEntry;
      group.told = 0;
    }
  }
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  totals_.cells += task.rows;
  return task.rows > 0;
}

// ---- What happens to requests ----

void GraphBatcher::withdraw(std::uint32_t index) {
  for (NodeGroup& group : requests_[index].graph.groups) {
    if (group.entry != kNoEntry) queues_.erase(group.entry);
    group.entry = kNoEntry;
    group.count = group.told = 0;
  }
}

void GraphBatcher::change_class(std::uint32_t index, PriorityClass to) {
  for (const NodeGroup& group : requests_[index].graph.groups) {
    if (group.entry != kNoEntry) queues_.change_class(group.entry, to);
  }
}

}  // namespace volvox
