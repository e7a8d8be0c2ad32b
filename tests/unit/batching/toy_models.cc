#include "tests/unit/batching/toy_models.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace volvox::toy {
namespace {

constexpr std::uint32_t kOutputStride = 1;
DeviceAddress output_address(std::uint64_t tag, std::uint64_t lane) {
  return (tag << 24) + ((lane + 1) << 20);
}

LaneEdge self(std::uint8_t lane) {
  return {0, lane, -1, 1, false, false, LaneEdge::kNone};
}
LaneEdge same_step(std::uint8_t gather, std::uint8_t from) {
  return {gather, from, 0, 1, false, false, LaneEdge::kNone};
}

LaneSpec lane(CellTypeId type, PoolId pool, std::uint32_t ring, std::vector<LaneEdge> edges, bool push) {
  LaneSpec spec;
  spec.type = type;
  spec.pool = pool;
  spec.ring = ring;
  spec.edges = std::move(edges);
  if (push) spec.pushes[0] = {0, false};
  return spec;
}

}  // namespace

std::vector<TypeShape> type_shapes(std::uint32_t max_batch) {
  std::vector<TypeShape> types(kTypeCount);
  for (TypeShape& type : types) type.max_batch = max_batch, type.gathers = 1;
  types[kEager].gathers = 0;
  types[kEager].out_pool = kWindow;
  types[kCore].gathers = 2;
  types[kCore].gather_pools[1] = kWindow;
  types[kLayer1].gathers = types[kLayer2].gathers = types[kDecoder].gathers = 2;
  types[kTop].gathers = 3;
  types[kAttention].ragged = true;
  for (CellTypeId type : {kLeaf, kInternal, kChar, kWord, kAny}) {
    types[type].out_pool = types[type].ragged_pool = kGraphs;
    for (PoolId& pool : types[type].gather_pools) pool = kGraphs;
  }
  types[kLeaf].gathers = 0;
  types[kInternal].gathers = 2;
  types[kChar].ragged = types[kAny].ragged = true;
  types[kAny].gathers = 0;
  return types;
}

SchedulerConfig scheduler_config(std::uint32_t max_batch, std::uint32_t workers, std::uint32_t max_tasks,
                                 const std::vector<std::uint32_t>& pool_slots) {
  SchedulerConfig config;
  for (CellTypeId t = 0; t < kTypeCount; ++t) {
    TypeConfig type;
    type.id = t;
    type.priority = static_cast<std::int32_t>(t);
    type.max_batch = max_batch;
    type.independent = t == kEager;
    type.pulls = type.pushes = 1;
    config.types.push_back(type);
  }
  for (PoolId p = 0; p < kPoolCount; ++p) config.pools.push_back({p, pool_slots[p]});
  config.models.push_back({0, 1.0});
  config.workers = workers;
  config.max_tasks_to_submit = max_tasks;
  return config;
}

const LanePlan& chain_plan() {
  static const LanePlan plan{0, {lane(kChain, kStates, 2, {self(0)}, true)}};
  return plan;
}

const LanePlan& eager_plan() {
  static const LanePlan plan{
      0, {lane(kEager, kWindow, 6, {}, false), lane(kCore, kStates, 2, {self(1), same_step(1, 0)}, true)}};
  return plan;
}

const LanePlan& streamed_plan(bool eager) {
  static const auto make = [](std::uint8_t pushing) {
    LanePlan made = eager_plan();
    made.lanes[1].pushes[0] = {};
    made.lanes[pushing].pushes[0] = {0, true};
    return made;
  };
  static const LanePlan plans[] = {make(1), make(0)};
  return plans[eager ? 1 : 0];
}

const LanePlan& stack_plan() {
  static const LanePlan plan{0,
                             {lane(kLayer0, kStates, 4, {self(0)}, false),
                              lane(kLayer1, kStates, 3, {self(1), same_step(1, 0)}, false),
                              lane(kLayer2, kStates, 2, {self(2), same_step(1, 1)}, true)}};
  return plan;
}

const LanePlan& bidirectional_plan() {
  static const LanePlan plan{
      0,
      {lane(kLayer0, kStates, 5, {self(0)}, false), lane(kBackward, kStates, 0, {self(1)}, false),
       lane(kTop, kStates, 2, {self(2), same_step(1, 0), {2, 1, 0, -1, true, false, LaneEdge::kNone}},
            true)}};
  return plan;
}

const LanePlan& between_plan() {
  static const LanePlan plan{
      0,
      {lane(kLayer0, kStates, 2, {self(0)}, false), lane(kEncoder, kStates, 0, {same_step(0, 0)}, false),
       lane(kLayer1, kStates, 2, {self(2), {1, 1, 0, -1, true, false, LaneEdge::kNone}}, true)}};
  return plan;
}

const LanePlan& seq2seq_plan() {
  static const LanePlan plan = [] {
    LanePlan made{0,
                  {lane(kEncoder, kStates, 2, {self(0)}, false),
                   lane(kDecoder, kStates, 2, {self(1), {1, 0, 0, 0, true, false, LaneEdge::kNone}}, true)}};
    made.lanes[1].length_of = 1;
    made.lanes[1].edges[0].before_first = 0;
    return made;
  }();
  return plan;
}

const LanePlan& attention_plan() {
  static const LanePlan plan = [] {
    LanePlan made{
        0,
        {lane(kEncoder, kStates, 0, {self(0)}, false),
         lane(kAttention, kStates, 2, {self(1), {0, 0, 0, 0, false, true, LaneEdge::kNone}}, true)}};
    made.lanes[1].length_of = 1;
    return made;
  }();
  return plan;
}

const LanePlan& stopped_plan() {
  static const LanePlan plan = [] {
    LanePlan made{0, {lane(kChain, kStates, 2, {self(0)}, false)}};
    made.lanes[0].until_stopped = true;
    made.lanes[0].pushes[0] = {0, true};
    return made;
  }();
  return plan;
}

const LanePlan& stopped_decoder_plan() {
  static const LanePlan plan = [] {
    LanePlan made = seq2seq_plan();
    made.lanes[1].until_stopped = true;
    made.lanes[1].pushes[0] = {0, true};
    return made;
  }();
  return plan;
}

const LanePlan& stopped_encoder_plan() {
  static const LanePlan plan = [] {
    LanePlan made = attention_plan();
    made.lanes[0].until_stopped = true;
    return made;
  }();
  return plan;
}

const LanePlan& stopped_stack_plan() {
  static const LanePlan plan = [] {
    LanePlan made{0,
                  {lane(kLayer0, kStates, 4, {self(0)}, false),
                   lane(kLayer1, kStates, 2, {self(1), same_step(1, 0)}, false)}};
    for (LaneSpec& spec : made.lanes) spec.until_stopped = true;
    made.lanes[1].pushes[0] = {0, true};
    return made;
  }();
  return plan;
}

bool is_followed(const LanePlan& plan, LaneId lane) {
  for (LaneId reader = 0; reader < plan.lanes.size(); ++reader) {
    for (const LaneEdge& edge : plan.lanes[reader].edges) {
      if (reader != lane && edge.from == lane && !edge.all && edge.stride != 0) return true;
    }
  }
  return false;
}

Request lanes_request(std::uint64_t tag, const LanePlan& plan, std::uint32_t length, std::uint32_t length1) {
  Request request;
  request.tag = tag;
  request.plan = &plan;
  request.lengths = {length, length1, 0, 0};
  request.inputs[0] = {input_address(tag), 1};
  request.outputs[0] = {output_address(tag, 0), kOutputStride};
  return request;
}

Request graph_request(std::uint64_t tag, NodeGraph graph) {
  graph.pool = kGraphs;
  EXPECT_TRUE(graph.finish().has_value());
  Request request;
  request.tag = tag;
  request.graph = std::make_shared<const NodeGraph>(std::move(graph));
  request.inputs[0] = {input_address(tag), 1};
  request.outputs[0] = {output_address(tag, 0), kOutputStride};
  return request;
}

NodeGraph first_nodes(const NodeGraph& graph, std::uint32_t count) {
  NodeGraph first;
  first.pool = graph.pool;
  for (std::uint32_t v = 0; v < count; ++v) first.add(graph.node(v), graph.predecessors(v));
  EXPECT_TRUE(first.finish().has_value());
  return first;
}

NodeGraph random_tree(std::mt19937_64& random, std::uint32_t leaves, bool leaves_first) {
  NodeGraph graph;
  std::uint32_t next = 0;
  const auto leaf = [&] { return graph.add({kLeaf, next, 0, false, false}, {}), next++; };
  const auto join = [&](std::uint32_t left, std::uint32_t right, bool root) {
    const NodeGraph::Edge edges[] = {{left, 0}, {right, 1}};
    graph.add({kInternal, next, 0, root, false}, edges);
    return next++;
  };
  if (leaves == 1) {
    graph.add({kLeaf, 0, 0, true, false}, {});
    return graph;
  }
  if (leaves_first) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < leaves; ++i) open.push_back(leaf());
    while (open.size() > 1) {
      const std::size_t at = random() % (open.size() - 1);
      open[at] = join(open[at], open[at + 1], open.size() == 2);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return graph;
  }
  const std::function<std::uint32_t(std::uint32_t, bool)> build = [&](std::uint32_t n,
                                                                      bool root) -> std::uint32_t {
    if (n == 1) return leaf();
    const auto left = static_cast<std::uint32_t>(1 + random() % (n - 1));
    const std::uint32_t l = build(left, false), r = build(n - left, false);
    return join(l, r, root);
  };
  build(leaves, true);
  return graph;
}

NodeGraph random_lattice(std::mt19937_64& random, std::uint32_t chars) {
  NodeGraph graph;
  std::vector<std::uint32_t> char_node;
  std::vector<std::vector<std::uint32_t>> words_ending(chars);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < chars; ++i) {
    std::vector<NodeGraph::Edge> edges;
    if (i > 0) edges.push_back({char_node[i - 1], 0});
    for (std::uint32_t word : words_ending[i]) edges.push_back({word, NodeGraph::kRagged});
    graph.add({kChar, next, 0, i + 1 == chars, false}, edges);
    char_node.push_back(next++);
    for (std::uint32_t length = 2; i + length <= chars && length <= 4; ++length) {
      if (random() % 3 != 0 || i + length - 1 == i) continue;
      const NodeGraph::Edge edge{char_node[i], 0};
      graph.add({kWord, next, 0, false, false}, {&edge, 1});
      words_ending[i + length - 1].push_back(next++);
    }
  }
  return graph;
}

NodeGraph random_dag(std::mt19937_64& random, std::uint32_t nodes) {
  NodeGraph graph;
  for (std::uint32_t v = 0; v < nodes; ++v) {
    std::vector<NodeGraph::Edge> edges;
    for (std::uint32_t u = v; u-- > 0 && edges.size() < 5;) {
      if (random() % 4 == 0) edges.push_back({u, NodeGraph::kRagged});
    }
    graph.add({kAny, v, v, v + 1 == nodes || random() % 5 == 0, random() % 4 == 0}, edges);
  }
  return graph;
}

static Request streamed_request(std::uint64_t tag, bool eager, std::uint32_t length) {
  Request request = lanes_request(tag, streamed_plan(eager), length);
  request.report_steps = true;
  return request;
}

Request random_request(std::mt19937_64& random, std::uint64_t tag) {
  const auto pick = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(1 + random() % n); };
  switch (random() % 14) {
    case 0:
      return lanes_request(tag, chain_plan(), random() % 8 == 0 ? 300 + pick(100) : pick(20));
    case 1:
      return lanes_request(tag, eager_plan(), pick(30));
    case 2:
      return lanes_request(tag, stack_plan(), pick(12));
    case 3:
      return lanes_request(tag, bidirectional_plan(), pick(10));
    case 4:
      return lanes_request(tag, seq2seq_plan(), pick(10), pick(10));
    case 5:
      return lanes_request(tag, attention_plan(), pick(8), pick(8));
    case 6:
      return lanes_request(tag, stopped_plan(), 12);
    case 7:
      return graph_request(tag, random_tree(random, pick(12), random() % 2 == 0));
    case 8:
      return graph_request(tag, random_lattice(random, pick(15)));
    case 9:
      return streamed_request(tag, random() % 2 == 0, pick(30));
    case 10:
      return lanes_request(tag, stopped_decoder_plan(), pick(6), 12);
    case 11:
      return lanes_request(tag, stopped_encoder_plan(), 12, pick(6));
    case 12:
      return lanes_request(tag, stopped_stack_plan(), 12);
    default:
      return graph_request(tag, random_dag(random, pick(20)));
  }
}

std::vector<std::uint32_t> least_slots(const Request& request) {
  std::vector<std::uint32_t> slots(kPoolCount, 0);
  if (request.graph != nullptr) {
    slots[kGraphs] = std::max(request.graph->suffix_peak(0), request.max_nodes);
    return slots;
  }
  for (const LaneSpec& spec : request.plan->lanes) {
    slots[spec.pool] += spec.ring == 0 ? request.lengths[spec.length_of] : spec.ring;
  }
  return slots;
}

namespace {

std::uint32_t steps_of(const Request& request, const Stops& stops, LaneId lane) {
  const std::uint32_t length = request.lengths[request.plan->lanes[lane].length_of];
  const auto stop = stops.find(lane);
  return stop == stops.end() ? length : std::min(length, stop->second);
}

// The value of every node of a plan, step by step, by definition.
class LaneValues {
 public:
  LaneValues(const Request& request, const Stops& stops, const StartStates& start)
      : request_(request), stops_(stops), start_(start), shapes_(type_shapes(1)) {}

  std::uint64_t at(std::uint8_t l, std::int64_t t) {
    const auto key = std::make_pair(l, t);
    if (auto it = known_.find(key); it != known_.end()) return it->second;
    const LaneSpec& spec = request_.plan->lanes[l];
    std::uint64_t hash = mix(spec.type, input_address(request_.tag) + static_cast<std::uint64_t>(t));
    for (std::uint32_t g = 0; g < shapes_[spec.type].gathers; ++g) {
      for (const LaneEdge& edge : spec.edges) {
        if (!edge.all && edge.gather == g) hash = mix(hash, source(edge, t));
      }
    }
    for (const LaneEdge& edge : spec.edges) {
      for (std::int64_t s = 0; edge.all && s < length(edge.from); ++s) hash = mix(hash, at(edge.from, s));
    }
    return known_[key] = hash;
  }
  std::int64_t length(std::uint8_t l) const { return steps_of(request_, stops_, l); }

 private:
  std::uint64_t source(const LaneEdge& edge, std::int64_t t) {
    const std::int64_t s = edge.offset + (edge.from_end ? length(edge.from) - 1 : 0) + edge.stride * t;
    if (s >= 0) return at(edge.from, s);
    if (edge.before_first == LaneEdge::kNone) return start_.empty() ? initial_state() : start_[edge.from];
    return at(edge.before_first, length(edge.before_first) - 1);
  }

  const Request& request_;
  const Stops& stops_;
  const StartStates& start_;
  std::vector<TypeShape> shapes_;
  std::map<std::pair<std::uint8_t, std::int64_t>, std::uint64_t> known_;
};

std::vector<std::uint64_t> node_values(const Request& request) {
  const NodeGraph& graph = *request.graph;
  const auto shapes = type_shapes(1);
  std::vector<std::uint64_t> values;
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    std::uint64_t hash = mix(graph.node(v).type, input_address(request.tag) + graph.node(v).pull_row);
    for (std::uint32_t g = 0; g < shapes[graph.node(v).type].gathers; ++g) {
      std::uint64_t value = initial_state();
      for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
        if (edge.gather == g) value = values[edge.node];
      }
      hash = mix(hash, value);
    }
    for (const NodeGraph::Edge& edge : graph.predecessors(v)) {
      if (edge.gather == NodeGraph::kRagged) hash = mix(hash, values[edge.node]);
    }
    values.push_back(hash);
  }
  return values;
}

}  // namespace

std::map<DeviceAddress, std::uint64_t> expected_outputs(const Request& request, const Stops& stops,
                                                        const StartStates& start) {
  std::map<DeviceAddress, std::uint64_t> outputs;
  const PushTarget& target = request.outputs[0];
  if (request.graph != nullptr) {
    const auto values = node_values(request);
    for (std::uint32_t v = 0; v < values.size(); ++v) {
      const NodeGraph::Node& node = request.graph->node(v);
      if (node.push) outputs[target.address + node.push_row * target.stride_bytes] = values[v];
    }
    return outputs;
  }
  LaneValues values(request, stops, start);
  for (std::uint8_t l = 0; l < request.plan->lanes.size(); ++l) {
    const LanePush push = request.plan->lanes[l].pushes[0];
    if (push.output == LanePush::kNowhere) continue;
    if (!push.every) outputs[target.address] = values.at(l, values.length(l) - 1);
    for (std::int64_t t = 0; push.every && t < values.length(l); ++t) {
      outputs[target.address + static_cast<std::uint64_t>(t)] = values.at(l, t);
    }
  }
  return outputs;
}

StartStates expected_states(const Request& request, const StartStates& start) {
  const Stops none;
  LaneValues values(request, none, start);
  StartStates states;
  for (std::uint8_t l = 0; l < request.plan->lanes.size(); ++l) {
    states.push_back(values.at(l, values.length(l) - 1));
  }
  return states;
}

std::vector<Device::Node> expected_nodes(const Request& request, const Stops& stops) {
  std::vector<Device::Node> nodes;
  if (request.graph != nullptr) {
    for (std::uint32_t v = 0; v < request.graph->size(); ++v) {
      nodes.emplace_back(request.tag, request.graph->node(v).type, v);
    }
    return nodes;
  }
  for (LaneId lane = 0; lane < request.plan->lanes.size(); ++lane) {
    for (std::uint32_t t = 0; t < steps_of(request, stops, lane); ++t)
      nodes.emplace_back(request.tag, request.plan->lanes[lane].type, t);
  }
  return nodes;
}

}  // namespace volvox::toy
