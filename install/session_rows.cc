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

std::uint32_t row_of(const SessionRows::Lane& lane, const CarriedState& state) {
  return lane.first + state.slot * lane.ring + (state.steps - 1) % lane.ring;
}

void carry(const SessionRows& rows, const std::optional<CarriedState>& from, std::uint32_t into,
           Request& request) {
  request.carried.clear();
  for (const SessionRows::Lane& lane : rows.lanes) {
    request.carried.push_back(
        {lane.lane, from ? row_of(lane, *from) : kInitialSlot, lane.first + into * lane.ring});
  }
}

}  // namespace volvox
