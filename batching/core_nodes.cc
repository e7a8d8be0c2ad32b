#include <algorithm>

#include "batching/core.h"
#include "batching/cost.h"

namespace volvox {

// Graph requests: one count of open predecessors a node, ready lists by type, and slots handed out from the
// request's own reservation.
//
// A reservation may be smaller than the number of nodes. Running the nodes in their order never needs more
// than suffix_peak(next) slots; a node that runs ahead of its turn holds one more until its turn has passed.
// So a node may run ahead as long as the slots that it and the others ahead hold are spare, and the next node
// in order can always run: no request can block itself.

void Scheduler::Core::enter_graph(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  const std::uint32_t n = graph.size();
  live.open = n;
  run.next = run.ahead_count = 0;
  run.slot.assign(n, kSinkSlot);
  run.state.assign(n, GraphRun::NodeState::kOpen);
  run.ahead.assign(n, 0);
  run.open_predecessors.resize(n);
  run.open_readers.resize(n);
  run.groups.resize(std::max<std::size_t>(run.groups.size(), 1));
  for (NodeGroup& group : run.groups) group.count = group.head = 0, group.ready.clear();
  run.free_slots.clear();
  for (std::uint32_t s = run.reserved; s-- > 0;) run.free_slots.push_back(run.base + s);
  for (std::uint32_t v = 0; v < n; ++v) {
    form_[graph.node(v).type] = Form::kNodes;
    run.open_predecessors[v] = static_cast<std::uint32_t>(graph.predecessors(v).size());
    run.open_readers[v] = static_cast<std::uint32_t>(graph.successors(v).size());
    if (run.open_predecessors[v] == 0) make_ready(index, v);
  }
  for (NodeGroup& group : run.groups) queue_group(index, group);
}

NodeGroup& Scheduler::Core::group_for(LiveRequest& live, CellTypeId type) {
  auto& groups = live.graph.groups;
  for (NodeGroup& group : groups) {
    if (group.type == type && (group.count > 0 || group.entry != kNoEntry)) return group;
  }
  for (NodeGroup& group : groups) {
    if (group.count == 0 && group.entry == kNoEntry) {
      group.type = type;
      group.ready.clear();
      group.head = 0;
      return group;
    }
  }
  groups.emplace_back().type = type;
  return groups.back();
}

void Scheduler::Core::make_ready(std::uint32_t index, std::uint32_t node) {
  LiveRequest& live = requests_[index];
  NodeGroup& group = group_for(live, live.request.graph->node(node).type);
  live.graph.state[node] = GraphRun::NodeState::kReady;
  group.ready.push_back(node);
  ++group.count;
}

void Scheduler::Core::queue_group(std::uint32_t index, NodeGroup& group) {
  const LiveRequest& live = requests_[index];
  if (group.count == 0 || !live.landed) return;
  if (group.entry != kNoEntry) {
    queues_.set_ready(group.entry, group.count);
    return;
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

bool Scheduler::Core::form_nodes(WorkerId worker, const Choice& choice, Task& task, TaskRecord& record) {
  const TypeConfig& type = config_.types[choice.type];
  const std::uint32_t ready = std::min(choice.rows, this->ready(choice.type, worker));
  const BatchSize size = choose_batch_size(type, ready);
  formed_from_.clear();
  for (EntryId id; task.rows < size.rows && (id = queues_.first(choice.type, worker)) != kNoEntry;) {
    const std::uint32_t index = queues_[id].request;
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
  for (std::uint32_t index : formed_from_) settle_nodes(index);
  task.form = Task::Form::kListed;
  task.padded_rows = type.sizes.empty() ? task.rows : size.padded;
  totals_.cells += task.rows;
  return task.rows > 0;
}

std::uint32_t Scheduler::Core::take_nodes(std::uint32_t index, NodeGroup& group, const Choice& choice,
                                          Task& task, TaskRecord& record) {
  LiveRequest& live = requests_[index];
  const TypeConfig& type = config_.types[choice.type];
  std::uint32_t taken = 0;
  while (task.rows < choice.rows && group.count > 0 && task.edges.size() < type.max_edges) {
    const auto node = pick_node(live, group);
    if (!node) break;
    if (taken == 0) claim(index, record.worker);
    submit_node(index, *node, task);
    if (live.request.graph->node(*node).watch) record.nodes.push_back({index, 0, *node});
    --group.count;
    ++taken;
  }
  if (taken > 0) touch(index, record, taken);
  return taken;
}

// The next node in order when it is of this group, else the oldest ready one that may run ahead of its turn.
std::optional<std::uint32_t> Scheduler::Core::pick_node(LiveRequest& live, NodeGroup& group) {
  GraphRun& run = live.graph;
  if (run.free_slots.empty()) return std::nullopt;
  const NodeGraph& graph = *live.request.graph;
  if (run.next < graph.size() && graph.node(run.next).type == group.type &&
      run.state[run.next] == GraphRun::NodeState::kReady) {
    return run.next;
  }
  const auto taken = [&run](std::uint32_t v) { return run.state[v] == GraphRun::NodeState::kSubmitted; };
  while (group.head < group.ready.size() && taken(group.ready[group.head])) ++group.head;
  if (group.head == group.ready.size()) return std::nullopt;
  const std::uint32_t node = group.ready[group.head];
  if (!slot_allows(live, node)) return std::nullopt;
  return node;
}

bool Scheduler::Core::slot_allows(const LiveRequest& live, std::uint32_t node) const {
  const GraphRun& run = live.graph;
  if (run.growable || node == run.next || run.reserved >= live.request.graph->size()) return true;
  return live.request.graph->suffix_peak(run.next) + run.ahead_count + 1 <= run.reserved;
}

void Scheduler::Core::submit_node(std::uint32_t index, std::uint32_t node, Task& task) {
  LiveRequest& live = requests_[index];
  const NodeGraph& graph = *live.request.graph;
  GraphRun& run = live.graph;
  run.slot[node] = run.free_slots.back();
  run.free_slots.pop_back();
  ++used_slots_[graph.pool];
  run.state[node] = GraphRun::NodeState::kSubmitted;
  if (node != run.next) {
    run.ahead[node] = 1;
    ++run.ahead_count;
  }
  while (run.next < graph.size() && run.state[run.next] == GraphRun::NodeState::kSubmitted) {
    if (run.ahead[run.next]) --run.ahead_count;
    run.ahead[run.next++] = 0;
  }
  bind_node(live, node, task);
  ++task.rows;
  for (std::uint32_t next : graph.successors(node)) {
    if (--run.open_predecessors[next] == 0) run.newly_ready.push_back(next);
  }
  if (run.growable) return;
  for (const NodeGraph::Edge& edge : graph.predecessors(node)) {
    if (--run.open_readers[edge.from] == 0) run.newly_free.push_back(edge.from);
  }
  if (run.open_readers[node] == 0) run.newly_free.push_back(node);
}

void Scheduler::Core::bind_node(const LiveRequest& live, std::uint32_t node, Task& task) {
  const NodeGraph& graph = *live.request.graph;
  const NodeGraph::Node& description = graph.node(node);
  const TypeConfig& type = config_.types[description.type];
  RowBinding& row = task.bindings.emplace_back();
  const auto first_edge = static_cast<std::uint32_t>(task.edges.size());
  for (const NodeGraph::Edge& edge : graph.predecessors(node)) {
    const std::uint32_t slot = live.graph.slot[edge.from];
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
  row.out_base = live.graph.slot[node];
  row.length = 1;
}

void Scheduler::Core::free_node_slot(LiveRequest& live, std::uint32_t node) {
  GraphRun& run = live.graph;
  --used_slots_[live.request.graph->pool];
  run.free_slots.push_back(run.slot[node]);
  if (run.ahead[node]) --run.ahead_count;
  run.ahead[node] = 0;
}

// The task is formed: what it made ready or free counts from the next task on.
void Scheduler::Core::settle_nodes(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  GraphRun& run = live.graph;
  for (std::uint32_t node : run.newly_free) free_node_slot(live, node);
  run.newly_free.clear();
  for (std::uint32_t node : run.newly_ready) make_ready(index, node);
  run.newly_ready.clear();
  for (NodeGroup& group : run.groups) queue_group(index, group);
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
  live->request.graph = std::move(delta.graph);
  if (live->state == LiveRequest::State::kWaiting) return {};
  const NodeGraph& graph = *live->request.graph;
  GraphRun& run = live->graph;
  live->open += after - before;
  run.slot.resize(after, kSinkSlot);
  run.state.resize(after, GraphRun::NodeState::kOpen);
  run.ahead.resize(after, 0);
  run.open_predecessors.resize(after, 0);
  run.open_readers.resize(after, 0);
  for (std::uint32_t v = before; v < after; ++v) {
    form_[graph.node(v).type] = Form::kNodes;
    for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
      if (run.state[edge.from] != GraphRun::NodeState::kSubmitted) ++run.open_predecessors[v];
    }
    if (run.open_predecessors[v] == 0) make_ready(id.index, v);
  }
  for (NodeGroup& group : run.groups) queue_group(id.index, group);
  return {};
}

}  // namespace volvox
