#include <algorithm>

#include "batching/core.h"
#include "batching/cost.h"

namespace volvox {

// Graph requests: one count of open predecessors a node, ready lists by type, and slots taken from what the
// pool promised the request.
//
// A reservation may be smaller than the number of nodes. Running the nodes in their order never needs more
// than suffix_peak(next) slots; a node that runs ahead of its turn holds one more until its turn has passed.
// So a node may run ahead as long as the slots that it and the others ahead hold are spare, and the next node
// in order can always run: no request can block itself.

// Only counts: thousands of requests may wait for their turn, and what is written per node now would be out
// of every cache by then. open_graph() does the rest when the first node is taken.
void Scheduler::Core::enter_graph(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  live.open = graph.size();
  largest_graph_ = std::max(largest_graph_, graph.size());
  run.opened = false;
  run.live_slots = 0;
  run.taken.clear();
  run.groups.clear();
  add_groups(run, graph);
  for (std::size_t i = 0; i < run.groups.size(); ++i) run.groups[i].count = graph.sources()[i];
  queue_groups(index);
}

void Scheduler::Core::open_graph(LiveRequest& live) {
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  if (run.opened) return;
  run.opened = true;
  run.next = run.ahead_count = 0;
  run.first_free = kNoNode;
  run.taken.reserve(largest_graph_);
  run.nodes.reserve(largest_graph_);
  run.nodes.resize(graph.size());
  for (NodeGroup& group : run.groups) group.count = 0;
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    NodeRun& node = run.nodes[v];
    node = NodeRun{};
    node.open_predecessors = static_cast<std::uint32_t>(graph.predecessors(v).size());
    node.open_readers = static_cast<std::uint32_t>(graph.successors(v).size());
    if (node.open_predecessors == 0) make_ready(live, v);
  }
}

void Scheduler::Core::add_groups(GraphRun& run, const NodeGraph& graph) {
  for (std::size_t i = run.groups.size(); i < graph.types().size(); ++i) {
    run.groups.emplace_back().type = graph.types()[i];
    form_[graph.types()[i]] = Form::kNodes;
  }
}

void Scheduler::Core::make_ready(LiveRequest& live, std::uint32_t node) {
  GraphRun& run = live.graph;
  const CellTypeId type = live.request.graph->node(node).type;
  const auto group = std::find_if(run.groups.begin(), run.groups.end(),
                                  [type](const NodeGroup& g) { return g.type == type; });
  run.nodes[node].state = NodeRun::State::kReady;
  (group->tail == kNoNode ? group->head : run.nodes[group->tail].next_ready) = node;
  group->tail = node;
  ++group->count;
}

void Scheduler::Core::queue_groups(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  if (!live.landed) return;
  for (NodeGroup& group : live.graph.groups) {
    if (group.count == 0) continue;
    if (group.entry != kNoEntry) {
      queues_.set_ready(group.entry, group.count);
      continue;
    }
    ReadyQueues::Entry entry;
    entry.request = index;
    entry.item = static_cast<std::uint32_t>(&group - live.graph.groups.data());
    entry.type = group.type;
    entry.place = live.home == kNoWorker ? queues_.any() : live.home;
    entry.priority = live.request.priority;
    entry.ready = group.count;
    entry.since = now_;
    group.entry = queues_.push_back(entry);
  }
}

bool Scheduler::Core::form_nodes(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const std::uint32_t ready = std::min(choice.rows, this->ready(choice.type, worker));
  const BatchSize size = choose_batch_size(type, ready);
  formed_from_.clear();
  for (EntryId id; task.rows < size.rows && (id = queues_.first(choice.type, worker)) != kNoEntry;) {
    const std::uint32_t index = queues_[id].request;
    fetch_ahead(queues_[id].next);
    NodeGroup& group = requests_[index].graph.groups[queues_[id].item];
    const std::uint32_t before = task.rows;
    const std::uint32_t taken = take_nodes(index, group, {choice.type, size.rows}, task, record);
    if (taken > 0) formed_from_.push_back(index);
    if (group.count == 0 || task.rows < size.rows) {
      // Empty, or what is left waits for a slot: settle_nodes() queues it again.
      const bool full_of_edges = task.edges.size() >= type.max_edges;
      if (full_of_edges && group.count > 0) break;
      queues_.erase(group.entry);
      group.entry = kNoEntry;
    } else {
      queues_.set_ready(group.entry, group.count);
    }
    if (task.rows == before && task.edges.size() >= type.max_edges) break;
  }
  settle_nodes();
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  totals_.cells += task.rows;
  return task.rows > 0;
}

// Requests lie scattered in memory, and a task takes a node or two of each: the records of the next ones are
// fetched while this one's are worked on.
void Scheduler::Core::fetch_ahead(EntryId next) const {
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

std::uint32_t Scheduler::Core::take_nodes(std::uint32_t index, NodeGroup& group, const Choice& choice,
                                          Task& task, TaskRecord& record) {
  LiveRequest& live = requests_[index];
  const TypeConfig& type = config_.types[choice.type];
  open_graph(live);
  std::uint32_t taken = 0;
  while (task.rows < choice.rows && group.count > 0 && task.edges.size() < type.max_edges) {
    const std::uint32_t node = pick_node(live, group);
    if (node == kNoNode) break;
    if (taken == 0) claim(index, record.worker);
    submit_node(index, node, task);
    if (node == group.head) pop_ready(live.graph, group);
    if (live.request.graph->node(node).watch) record.nodes.push_back({index, 0, node});
    --group.count;
    ++taken;
  }
  if (taken > 0) touch(index, record, taken);
  return taken;
}

// The next node in order when it is of this group, else the oldest ready one that may run ahead of its turn.
std::uint32_t Scheduler::Core::pick_node(LiveRequest& live, NodeGroup& group) {
  GraphRun& run = live.graph;
  if (run.live_slots == run.reserved) return kNoNode;
  const NodeGraph& graph = *live.request.graph;
  while (group.head != kNoNode && run.nodes[group.head].state == NodeRun::State::kSubmitted)
    pop_ready(run, group);
  if (run.next < graph.size() && run.nodes[run.next].state == NodeRun::State::kReady &&
      graph.node(run.next).type == group.type) {
    return run.next;
  }
  return group.head != kNoNode && slot_allows(live, group.head) ? group.head : kNoNode;
}

void Scheduler::Core::pop_ready(GraphRun& run, NodeGroup& group) {
  group.head = run.nodes[group.head].next_ready;
  if (group.head == kNoNode) group.tail = kNoNode;
}

bool Scheduler::Core::slot_allows(const LiveRequest& live, std::uint32_t node) const {
  const GraphRun& run = live.graph;
  if (run.growable || node == run.next || run.reserved >= live.request.graph->size()) return true;
  return live.request.graph->suffix_peak(run.next) + run.ahead_count + 1 <= run.reserved;
}

std::uint32_t Scheduler::Core::take_slot(GraphRun& run, PoolId pool) {
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

void Scheduler::Core::submit_node(std::uint32_t index, std::uint32_t node, Task& task) {
  LiveRequest& live = requests_[index];
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  run.nodes[node].slot = take_slot(run, graph.pool);
  run.nodes[node].state = NodeRun::State::kSubmitted;
  if (node != run.next) {
    run.nodes[node].ahead = true;
    ++run.ahead_count;
  }
  while (run.next < graph.size() && run.nodes[run.next].state == NodeRun::State::kSubmitted) {
    if (run.nodes[run.next].ahead) --run.ahead_count;
    run.nodes[run.next++].ahead = false;
  }
  bind_node(live, node, task);
  ++task.rows;
  for (std::uint32_t next : graph.successors(node)) {
    if (--run.nodes[next].open_predecessors == 0) newly_ready_.push_back({index, next});
  }
  if (run.growable) return;
  for (const NodeGraph::Edge& edge : graph.predecessors(node)) {
    if (--run.nodes[edge.from].open_readers == 0) newly_free_.push_back({index, edge.from});
  }
  if (run.nodes[node].open_readers == 0) newly_free_.push_back({index, node});
}

void Scheduler::Core::bind_node(const LiveRequest& live, std::uint32_t node, Task& task) {
  const NodeGraph& graph = *live.request.graph;
  const NodeGraph::Node& description = graph.node(node);
  const TypeConfig& type = config_.types[description.type];
  RowBinding& row = task.bindings.emplace_back();
  const auto first_edge = static_cast<std::uint32_t>(task.edges.size());
  for (const NodeGraph::Edge& edge : graph.predecessors(node)) {
    const std::uint32_t slot = live.graph.nodes[edge.from].slot;
    if (edge.gather == NodeGraph::kRagged) {
      task.edges.push_back(slot);
    } else {
      row.gathers[edge.gather] = {slot, 1, 0, 0, kInitialSlot};
    }
  }
  row.ragged = {first_edge, static_cast<std::uint32_t>(task.edges.size()) - first_edge, true};
  for (std::uint32_t i = 0; i < type.pulls && description.pull_row != NodeGraph::kNoRow; ++i) {
    const PullSource& input = live.request.inputs[i];
    row.pulls[i] = {input.address + std::uint64_t{description.pull_row} * input.stride_bytes, 0};
  }
  for (std::uint32_t i = 0; i < type.pushes && description.push; ++i) {
    const PushTarget& output = live.request.outputs[i];
    row.pushes[i] = {output.address + std::uint64_t{description.push_row} * output.stride_bytes, 0};
  }
  row.out_base = live.graph.nodes[node].slot;
  row.length = 1;
}

void Scheduler::Core::free_node_slot(LiveRequest& live, std::uint32_t node) {
  GraphRun& run = live.graph;
  run.nodes[node].next_free = run.first_free;
  run.first_free = node;
  if (run.nodes[node].ahead) --run.ahead_count;
  run.nodes[node].ahead = false;
  --run.live_slots;
  --used_slots_[live.request.graph->pool];
}

// The task is formed: what it made ready or free counts from the next task on.
void Scheduler::Core::settle_nodes() {
  for (const auto& [index, node] : newly_free_) free_node_slot(requests_[index], node);
  for (const auto& [index, node] : newly_ready_) make_ready(requests_[index], node);
  newly_free_.clear();
  newly_ready_.clear();
  for (std::uint32_t index : formed_from_) queue_groups(index);
}

Status Scheduler::Core::extend(RequestId id, GraphDelta delta, TimePoint now) {
  now_ = now;
  LiveRequest* live = find(id);
  if (live == nullptr || !live->is_graph || live->outcome != LiveRequest::Outcome::kNone) {
    return invalid("the request is not there, is over, or is no graph");
  }
  const std::uint32_t before = live->request.graph->size(), after = delta.graph->size();
  if (after < before) return invalid("the new graph has fewer nodes than the old one");
  if (after > live->request.max_nodes) return invalid("the graph grows past the request's max_nodes");
  if (live->state == LiveRequest::State::kRunning) open_graph(*live);
  live->request.graph = std::move(delta.graph);
  if (live->state == LiveRequest::State::kWaiting) return {};
  const NodeGraph& graph = *live->request.graph;
  GraphRun& run = live->graph;
  live->open += after - before;
  run.nodes.resize(after);
  add_groups(run, graph);
  for (std::uint32_t v = before; v < after; ++v) {
    for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
      if (run.nodes[edge.from].state != NodeRun::State::kSubmitted) ++run.nodes[v].open_predecessors;
    }
    if (run.nodes[v].open_predecessors == 0) make_ready(*live, v);
  }
  queue_groups(id.index);
  return {};
}

}  // namespace volvox
