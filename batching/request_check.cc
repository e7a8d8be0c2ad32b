#include "batching/request_check.h"

#include <algorithm>

namespace volvox {
namespace {

using Refusal = std::optional<std::string>;

Refusal refuse_size(std::uint64_t needed, std::uint32_t capacity) {
  return "it needs " + std::to_string(needed) + " state slots of one pool, which has " +
         std::to_string(capacity);
}

Refusal check_carried(const Request& request, const StateSlots& slots) {
  for (const CarriedLane& carried : request.carried) {
    const std::string name = "carried lane " + std::to_string(carried.lane);
    if (carried.lane >= request.plan->lanes.size()) return name + " does not exist";
    const LaneSpec& spec = request.plan->lanes[carried.lane];
    if (!spec.has_state || spec.ring == 0) return name + " keeps no last state";
    const std::uint32_t own = slots.end(spec.pool);
    const bool initial = carried.initial == kInitialSlot;
    if (!initial && carried.initial < own) return name + " is in rows of requests";
    for (std::uint32_t t = 0; t < spec.ring; ++t) {
      const std::uint32_t row = slot_in_turn(carried.base, spec.ring, carried.step, t);
      if (row < own) return name + " is in rows of requests";
      if (!initial && row == carried.initial) return name + " writes what it reads";
    }
  }
  return std::nullopt;
}

// Whether the lane, of `length` steps, would read steps that the edge's lane does not have.
bool reads_past_end(const Request& request, const LaneEdge& edge, std::uint32_t length) {
  if (edge.all) return false;
  const std::int64_t n = request.lengths[request.plan->lanes[edge.from].length_of];
  const std::int64_t first = edge.offset + (edge.from_end ? n - 1 : 0);
  const std::int64_t last = first + std::int64_t{edge.stride} * (length - 1);
  return std::max(first, last) >= n;
}

std::uint64_t slots_of(const Request& request, std::size_t i) {
  const LaneSpec& spec = request.plan->lanes[i];
  if (!spec.has_state || request.carried_of(i) != nullptr) return 0;
  return spec.ring == 0 ? request.lengths[spec.length_of] : spec.ring;
}

// Of the pool of lane `i`. Looks at the plan's pools only: there may be thousands of other models'.
std::uint64_t slots_beside(const Request& request, std::size_t i) {
  const auto& lanes = request.plan->lanes;
  std::uint64_t needed = 0;
  for (std::size_t j = 0; j < lanes.size(); ++j) {
    if (lanes[j].pool == lanes[i].pool) needed += slots_of(request, j);
  }
  return needed;
}

// Asked of every request: nothing is made unless it is refused.
Refusal check_lanes(const Request& request, const StateSlots& slots, const std::vector<TypeConfig>& types,
                    const std::vector<TaskRows>& rows) {
  const auto& lanes = request.plan->lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const LaneSpec& spec = lanes[i];
    const std::uint32_t length = request.lengths[spec.length_of];
    if (length == 0) return "lane " + std::to_string(i) + " has no steps";
    if (rows[spec.type] == TaskRows::kNodes) return "its cell type also serves node graphs";
    for (const LaneEdge& edge : spec.edges) {
      const std::uint32_t listed = edge.all ? request.lengths[lanes[edge.from].length_of] : 0;
      if (listed > types[spec.type].max_edges) {
        return "a step reads all " + std::to_string(listed) +
               " of another sequence, and a task of its cell at most " +
               std::to_string(types[spec.type].max_edges) + " (max_edges)";
      }
      if (!reads_past_end(request, edge, length)) continue;
      return "lane " + std::to_string(i) + " reads past the end of lane " + std::to_string(edge.from);
    }
    const std::uint64_t needed = slots_beside(request, i);
    if (needed == 0) continue;  // perhaps it has no pool
    const std::uint32_t capacity = slots.capacity(spec.pool);
    if (needed > capacity) return refuse_size(needed, capacity);
  }
  return request.carried.empty() ? std::nullopt : check_carried(request, slots);
}

Refusal check_graph(const Request& request, const StateSlots& slots, const std::vector<TaskRows>& rows) {
  const NodeGraph& graph = *request.graph;
  if (graph.size() == 0) return "the graph has no nodes";
  for (CellTypeId type : graph.types()) {
    if (type >= rows.size()) return "it has an unknown cell type";
    if (rows[type] == TaskRows::kLanes) return "its cell type also serves lanes";
  }
  if (request.max_nodes > 0 && request.max_nodes < graph.size()) return "the graph exceeds max_nodes";
  const std::uint32_t least = request.max_nodes > 0 ? request.max_nodes : graph.suffix_peak(0);
  const std::uint32_t capacity = slots.capacity(graph.pool);
  return least > capacity ? refuse_size(least, capacity) : std::nullopt;
}

}  // namespace

std::optional<std::string> why_never(const Request& request, const StateSlots& slots,
                                     const std::vector<TypeConfig>& types,
                                     const std::vector<TaskRows>& rows) {
  if (request.graph != nullptr) return check_graph(request, slots, rows);
  if (request.plan == nullptr) return "the request has neither lanes nor a graph";
  return check_lanes(request, slots, types, rows);
}

}  // namespace volvox
