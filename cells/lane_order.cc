#include "cells/lane_order.h"

#include <algorithm>

namespace volvox {

LaneOrder::LaneOrder(const LanePlan& plan) : plan_(plan) {
  for (auto& row : distance_) row.fill(kNever);
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    for (const LaneEdge& edge : plan.lanes[lane].edges) {
      const bool follows = !edge.all && edge.stride > 0;
      need(lane, edge.from, follows ? edge.offset : kWhole);
      if (!edge.all && edge.before_first != LaneEdge::kNone) need(lane, edge.before_first, kWhole);
    }
  }
}

void LaneOrder::add_rings() {
  for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
    for (const LaneEdge& edge : plan_.lanes[lane].edges) {
      const auto ring = static_cast<std::int64_t>(plan_.lanes[edge.from].ring);
      if (ring > 0 && !edge.all && edge.stride > 0) need(edge.from, lane, -ring - edge.offset);
    }
  }
}

void LaneOrder::need(std::size_t reader, std::size_t source, std::int64_t distance) {
  distance_[reader][source] = std::max(distance_[reader][source], distance);
}

std::optional<std::size_t> LaneOrder::find_cycle() const {
  auto longest = distance_;
  const std::size_t lanes = plan_.lanes.size();
  for (std::size_t k = 0; k < lanes; ++k) {
    for (std::size_t a = 0; a < lanes; ++a) {
      if (longest[a][k] == kNever) continue;
      for (std::size_t b = 0; b < lanes; ++b) {
        if (longest[k][b] == kNever) continue;
        longest[a][b] = std::max(longest[a][b], std::min(longest[a][k] + longest[k][b], 2 * kWhole));
      }
    }
    for (std::size_t a = 0; a < lanes; ++a) {
      if (longest[a][a] != kNever && longest[a][a] >= 0) return a;
    }
  }
  return std::nullopt;
}

}  // namespace volvox
