#include "batching/policy/request_depths.h"

#include <algorithm>

#include "cells/unfold/plan_lanes.h"

namespace volvox {
namespace {

void lane_depths(const Request& request, std::vector<NodeDepth>& depths) {
  const ReferenceOrder order = lane_reference_order(*request.plan, request.lengths);
  for (const ReferenceOrder::Node& node : order.nodes) {
    NodeDepth& own = depths.emplace_back(NodeDepth{node.type, 0});
    const auto after = [&](std::uint32_t from) { own.depth = std::max(own.depth, depths[from].depth + 1); };
    for (const std::uint32_t from : node.gathers) {
      if (from != ReferenceOrder::kInitial) after(from);
    }
    for (std::uint32_t i = 0; i < node.listed; ++i) after(order.list[node.first_listed + i]);
  }
}

void graph_depths(const NodeGraph& graph, std::vector<NodeDepth>& depths) {
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    NodeDepth& own = depths.emplace_back(NodeDepth{graph.node(v).type, 0});
    for (const NodeGraph::Edge& edge : graph.predecessors(v))
      own.depth = std::max(own.depth, depths[edge.node].depth + 1);
  }
}

}  // namespace

void request_depths(const Request& request, std::vector<NodeDepth>& depths) {
  depths.clear();
  if (request.graph != nullptr) return graph_depths(*request.graph, depths);
  lane_depths(request, depths);
}

}  // namespace volvox
