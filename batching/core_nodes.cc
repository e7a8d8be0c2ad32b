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
  const std::size_t room = std::max(graph.size(), std::min(largest_graph_, kKeptNodes));
  run.taken.reserve(room);
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

void Scheduler::Core::add_groups(GraphRun& run, const NodeGraph& graph) {
  for (std::size_t i = run.groups.size(); i < graph.types().size(); ++i) {
    run.groups.emplace_back().type = graph.types()[i];
    form_[graph.types()[i]] = Form::kNodes;
  }
}

void Scheduler::Core::make_ready(GraphRun& run, std::uint32_t v) {
  NodeRun& node = run.nodes[v];
  NodeGroup& group = run.groups[node.group];
  node.state = NodeRun::State::kReady;
  node.next_ready = kNoNode;
  (group.tail == kNoNode ? group.head : run.nodes[group.tail].next_ready) = v;
  group.tail = v;
  ++group.count;
}

void Scheduler::Core::queue_groups(std::uint32_t index) {
  if (!requests_[index].landed) return;
  for (NodeGroup& group : requests_[index].graph.groups) queue_group(index, group);
}

void Scheduler::Core::queue_group(std::uint32_t index, NodeGroup& group) {
  if (group.count == 0) return;
  if (group.entry != kNoEntry) return queues_.set_ready(group.entry, group.count);
  push_group(index, group);
}

void Scheduler::Core::push_group(std::uint32_t index, NodeGroup& group) {
  const LiveRequest& live = requests_[index];
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
    run.nodes[v].group = graph.type_index(v);
    for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
      if (run.nodes[edge.from].state != NodeRun::State::kSubmitted) ++run.nodes[v].open_predecessors;
    }
    if (run.nodes[v].open_predecessors == 0) make_ready(run, v);
  }
  queue_groups(id.index);
  return {};
}

}  // namespace volvox
