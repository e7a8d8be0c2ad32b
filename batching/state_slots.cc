#include "batching/state_slots.h"

#include <algorithm>

namespace volvox {
namespace {

bool reads_itself(const LanePlan& plan, std::size_t lane) {
  const auto& edges = plan.lanes[lane].edges;
  return std::any_of(edges.begin(), edges.end(), [&](const LaneEdge& edge) { return edge.from == lane; });
}

bool end_is_read(const LanePlan& plan, std::size_t lane) {
  for (const LaneSpec& reader : plan.lanes) {
    for (const LaneEdge& edge : reader.edges) {
      if (edge.before_first == lane || (edge.from == lane && edge.from_end)) return true;
    }
  }
  return false;
}

// Slots that a lane rotates through so that padding never overwrites what is read after it. Padding steps of
// a lane that takes one step at a time share a slot (RowBinding::length), for which there is one more; those
// of others have one each.
std::uint32_t ring_of(const LanePlan& plan, std::size_t lane, const LaneRun& run) {
  const std::uint32_t ring = plan.lanes[lane].ring;
  if (ring == 0) return run.run_length;
  if (run.run_length == run.length || !end_is_read(plan, lane)) return ring;
  return reads_itself(plan, lane) ? ring + 1 : run.run_length;
}

bool pushes_every_step(const LaneSpec& spec) {
  return std::any_of(spec.pushes.begin(), spec.pushes.end(),
                     [](const LanePush& push) { return push.output != LanePush::kNowhere && push.every; });
}

}  // namespace

StateSlots::StateSlots(const std::vector<PoolConfig>& pools) {
  for (const PoolConfig& pool : pools) set(pool);
}

void StateSlots::set(const PoolConfig& pool) {
  while (pools_.size() <= pool.id) {
    pools_.push_back({RangeAllocator(kReservedSlots, kReservedSlots), kReservedSlots});
  }
  pools_[pool.id] = {RangeAllocator(kReservedSlots, pool.slots), pool.slots};
}

// Each model has pools of its own, where they are made by the Installer; elsewhere they may be shared.
void StateSlots::note_model(PoolId pool, ModelId model) {
  Pool& of = pools_[pool];
  if (of.model == model) return;
  if (of.model != kNoModel) shared_ = true;
  of.model = model;
}

bool StateSlots::reserve(LiveRequest& live, const Lengths& pad_to) {
  return live.is_graph ? reserve_graph(live) : reserve_lanes(live, pad_to);
}

bool StateSlots::reserve_lanes(LiveRequest& live, const Lengths& pad_to) {
  const Request& request = live.request;
  const auto& specs = request.plan->lanes;
  const bool may_pad = request.carried.empty();  // padding would run over the state that a part leaves
  live.lanes.resize(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    LaneRun& run = live.lanes[i];
    run = LaneRun{};
    run.length = request.lengths[specs[i].length_of];
    run.reported = specs[i].until_stopped || (request.report_steps && pushes_every_step(specs[i]));
    run.run_length = may_pad ? std::max(run.length, pad_to[specs[i].length_of]) : run.length;
    if (specs[i].has_state) note_model(specs[i].pool, request.model);
    if (specs[i].has_state) run.ring = ring_of(*request.plan, i, run);
    if (reserve_lane(run, specs[i], request.carried_of(i))) continue;
    while (i-- > 0) release_lane(live.lanes[i], specs[i]);
    return false;
  }
  return true;
}

bool StateSlots::reserve_lane(LaneRun& run, const LaneSpec& spec, const CarriedLane* carried) {
  run.base = kSinkSlot;
  if (!spec.has_state) return true;
  if (carried != nullptr) {
    run.carried = true;
    run.base = carried->base;
    run.step = carried->step;
    run.initial = carried->initial;
    return true;
  }
  const auto base = pools_[spec.pool].slots.allocate(run.ring);
  if (base) run.base = *base;
  return base.has_value();
}

void StateSlots::release_lane(const LaneRun& run, const LaneSpec& spec) {
  if (spec.has_state && !run.carried) pools_[spec.pool].slots.release(run.base, run.ring);
}

bool StateSlots::reserve_graph(LiveRequest& live) {
  const NodeGraph& graph = *live.request.graph;
  RangeAllocator& pool = pools_[graph.pool].slots;
  note_model(graph.pool, live.request.model);
  GraphRun& run = live.graph;
  run.growable = live.request.max_nodes > 0;
  if (run.growable) {
    run.reserved = live.request.max_nodes;
  } else if (pool.reserved() + graph.size() <= pool.capacity() / 2) {
    run.reserved = graph.size();  // while there is plenty: nothing that is ready ever waits for a slot
  } else {
    run.reserved = std::max(graph.suffix_peak(0), std::min(graph.wanted_slots(), pool.capacity()));
  }
  return pool.promise(run.reserved);
}

void StateSlots::hold(const LiveRequest& live) {
  if (live.is_graph) return;  // its nodes take what was promised one by one
  for (std::size_t i = 0; i < live.lanes.size(); ++i) {
    const LaneSpec& spec = live.request.plan->lanes[i];
    if (spec.has_state && !live.lanes[i].carried) pools_[spec.pool].used += live.lanes[i].ring;
  }
}

void StateSlots::release(LiveRequest& live) {
  if (live.is_graph) return release_graph(live);
  for (std::size_t i = 0; i < live.lanes.size(); ++i) {
    const LaneSpec& spec = live.request.plan->lanes[i];
    if (!spec.has_state || live.lanes[i].carried) continue;
    release_lane(live.lanes[i], spec);
    pools_[spec.pool].used -= live.lanes[i].ring;
  }
}

void StateSlots::describe(std::vector<SchedulerStats::PerPool>& stats) const {
  for (PoolId pool = 0; pool < pools_.size(); ++pool) {
    const Pool& of = pools_[pool];
    stats.push_back({pool, of.slots.capacity(), of.slots.reserved(), of.used});
  }
}

void StateSlots::release_graph(LiveRequest& live) {
  Pool& pool = pools_[live.request.graph->pool];
  pool.used -= live.graph.live_slots;
  if (live.graph.opened) {
    for (const NodeRun& node : live.graph.nodes) {
      if (node.took) pool.slots.give_back(node.slot);
    }
  }
  pool.slots.release_promise(live.graph.reserved);
  if (live.graph.nodes.capacity() > kKeptNodes) std::vector<NodeRun>().swap(live.graph.nodes);
}

}  // namespace volvox
