#include "cells/ir/lane_order.h"

#include <algorithm>

namespace volvox {
namespace {

bool follows(const LaneEdge& edge) {
  return !edge.all && edge.stride > 0;
}

}  // namespace

LaneOrder::LaneOrder(const LanePlan& plan) : plan_(plan) {
  for (auto& row : edges_) row.fill(kNever);
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    for (const LaneEdge& edge : plan.lanes[lane].edges) {
      need(edges_, lane, edge.from, follows(edge) ? edge.offset : kWhole);
      if (!edge.all && edge.before_first != LaneEdge::kNone) need(edges_, lane, edge.before_first, kWhole);
    }
  }
}

void LaneOrder::need(Distances& distances, std::size_t reader, std::size_t source, std::int64_t distance) {
  distances[reader][source] = std::max(distances[reader][source], distance);
}

LaneOrder::Distances LaneOrder::with_rings(std::size_t except) const {
  Distances distances = edges_;
  for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
    for (const LaneEdge& edge : plan_.lanes[lane].edges) {
      const std::int64_t ring = plan_.lanes[edge.from].ring;
      if (ring == 0 || edge.from == except || !follows(edge)) continue;
      need(distances, edge.from, lane, -ring - edge.offset);
    }
  }
  return distances;
}

// Where there is a cycle, sums would grow without end: they stop at 2·kWhole.
std::optional<std::size_t> LaneOrder::cycle_of(Distances distances) const {
  const std::size_t lanes = plan_.lanes.size();
  for (std::size_t k = 0; k < lanes; ++k) {
    for (std::size_t a = 0; a < lanes; ++a) {
      if (distances[a][k] == kNever) continue;
      for (std::size_t b = 0; b < lanes; ++b) {
        if (distances[k][b] == kNever) continue;
        need(distances, a, b, std::min(distances[a][k] + distances[k][b], 2 * kWhole));
      }
    }
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (distances[lane][lane] >= 0) return lane;
  }
  return std::nullopt;
}

std::optional<std::size_t> LaneOrder::find_cycle() const {
  return cycle_of(edges_);
}

std::optional<std::size_t> LaneOrder::find_small_ring() const {
  const std::optional<std::size_t> any = cycle_of(with_rings(LanePlan::kMaxLanes));
  if (!any) return std::nullopt;
  for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
    if (!cycle_of(with_rings(lane))) return lane;
  }
  return any;
}

std::vector<bool> LaneOrder::may_wait() const {
  std::vector<bool> waits(plan_.lanes.size(), false);
  Distances so_far = with_rings(LanePlan::kMaxLanes);
  for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
    Distances distances = so_far;
    const std::int64_t ring = plan_.lanes[lane].ring;
    const std::int64_t more = ring == 0 ? kWhole : std::max<std::int64_t>(ring / 2, 1) - 1;
    for (const LaneEdge& edge : plan_.lanes[lane].edges) {
      if (follows(edge)) need(distances, lane, edge.from, std::min(edge.offset + more, kWhole));
    }
    waits[lane] = !cycle_of(distances);
    if (waits[lane]) so_far = distances;
  }
  return waits;
}

}  // namespace volvox
