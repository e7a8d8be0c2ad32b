#include "install/session_rows.h"

#include <algorithm>

namespace volvox {
namespace {

bool reads_at_most_one_back(const LaneEdge& edge) {
  return !edge.all && !edge.from_end && edge.stride == 1 && edge.before_first == LaneEdge::kNone &&
         (edge.offset == 0 || edge.offset == -1);
}

bool runs_in_parts(const LaneSpec& lane, const LaneSpec& first) {
  return !lane.until_stopped && !lane.reversed && lane.length_of == first.length_of &&
         std::all_of(lane.edges.begin(), lane.edges.end(), reads_at_most_one_back);
}

}  // namespace

std::optional<std::vector<LaneId>> carried_lanes(const LanePlan& plan) {
  if (plan.lanes.empty()) return std::nullopt;
  std::vector<bool> carries(plan.lanes.size(), false);
  for (const LaneSpec& lane : plan.lanes) {
    if (!runs_in_parts(lane, plan.lanes.front())) return std::nullopt;
    for (const LaneEdge& edge : lane.edges) {
      if (edge.offset < 0) carries[edge.from] = true;
    }
  }
  std::vector<LaneId> lanes;
  for (LaneId l = 0; l < plan.lanes.size(); ++l) {
    if (!carries[l]) continue;
    if (plan.lanes[l].ring == 0) return std::nullopt;
    lanes.push_back(l);
  }
  return lanes;
}

bool has_third_row(std::uint32_t ring) {
  return ring == 2;
}

std::uint32_t rows_per_place(std::uint32_t ring) {
  return has_third_row(ring) ? 3 : 2 * ring;
}

std::uint32_t rows_per_slot(std::uint32_t ring) {
  return has_third_row(ring) ? 1 : ring;
}

std::uint32_t first_row(const SessionRows::Lane& lane, std::uint32_t slot) {
  return lane.first + slot * rows_per_slot(lane.ring);
}

std::uint32_t third_row(const SessionRows& rows, const SessionRows::Lane& lane, std::uint32_t place) {
  return lane.first + 2 * rows.places + place;
}

std::uint32_t row_of(const SessionRows::Lane& lane, const CarriedState& state) {
  return first_row(lane, state.slot) + (state.steps - 1) % rows_per_slot(lane.ring);
}

void carry(const SessionRows& rows, const std::optional<CarriedState>& from, std::uint32_t into,
           std::uint32_t place, Request& request) {
  request.carried.clear();
  request.carried.reserve(rows.lanes.size());
  for (const SessionRows::Lane& lane : rows.lanes) {
    CarriedLane& carried = request.carried.emplace_back();
    carried.lane = lane.lane;
    if (from) carried.initial = row_of(lane, *from);
    if (!has_third_row(lane.ring)) {
      carried.base = first_row(lane, into);
      continue;
    }
    const std::uint32_t steps = request.lengths[request.plan->lanes[lane.lane].length_of];
    const std::uint32_t last = first_row(lane, into), other = third_row(rows, lane, place);
    carried.base = steps % 2 == 1 ? last : other;
    carried.step = static_cast<std::int32_t>(last + other - 2 * carried.base);
  }
}

}  // namespace volvox
