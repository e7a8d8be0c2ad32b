#include "cells/ir/lane_plan.h"

#include <algorithm>
#include <string>

#include "cells/ir/lane_order.h"

namespace volvox {
namespace {

std::string lane_name(std::size_t lane) {
  return "lane " + std::to_string(lane);
}

Status lane_error(std::size_t lane, const std::string& what) {
  return invalid(lane_name(lane) + ": " + what);
}

std::string edge_name(const LaneEdge& edge) {
  return edge.all ? "its list of predecessors" : "gather " + std::to_string(edge.gather);
}

Status check_source(const LanePlan& plan, std::size_t lane, std::size_t from, const std::string& reader) {
  if (from >= plan.lanes.size()) {
    return lane_error(lane, reader + " reads lane " + std::to_string(from) + ", which does not exist");
  }
  if (!plan.lanes[from].has_state) {
    return lane_error(lane, reader + " reads lane " + std::to_string(from) + ", which publishes no state");
  }
  return {};
}

// A step past the last one does not exist; a step before 0 reads the initial value.
Status check_steps(const LanePlan& plan, std::size_t lane, const LaneEdge& edge) {
  if (edge.stride < -1 || edge.stride > 1)
    return lane_error(lane, edge_name(edge) + ": stride is not -1, 0 or 1");
  if (edge.offset < -kMaxDistance) return lane_error(lane, edge_name(edge) + ": offset is out of range");
  if (edge.offset > 0 || (edge.from_end && edge.stride > 0)) {
    return lane_error(lane,
                      edge_name(edge) + " reads past the last step of lane " + std::to_string(edge.from));
  }
  if (edge.stride < 0 && !edge.from_end) {
    return lane_error(lane, edge_name(edge) + ": stride -1 must count from the end");
  }
  if (edge.stride > 0 && plan.lanes[lane].length_of != plan.lanes[edge.from].length_of) {
    return lane_error(
        lane, edge_name(edge) + " follows lane " + std::to_string(edge.from) + ", whose length is another");
  }
  return {};
}

// What is read after the lane that wrote it moved on must still be there.
Status check_ring(const LanePlan& plan, std::size_t lane, const LaneEdge& edge) {
  const std::uint32_t ring = plan.lanes[edge.from].ring;
  if (ring == 0) return {};
  const std::string whose = "lane " + std::to_string(edge.from);
  if (edge.all || edge.stride < 0 || (edge.stride == 0 && !edge.from_end)) {
    return lane_error(lane, edge_name(edge) + " needs every step of " + whose + ", which keeps only " +
                                std::to_string(ring) + " (ring 0 keeps all)");
  }
  const auto distance = static_cast<std::uint32_t>(-edge.offset);
  const bool self = edge.from == lane && edge.stride > 0;
  const std::uint32_t needed = self || edge.stride == 0 ? distance + 1 : 1;
  if (ring < needed) {
    return lane_error(lane, edge_name(edge) + " reads " + std::to_string(distance) + " steps back in " +
                                whose + ", whose ring of " + std::to_string(ring) +
                                " is too small: at least " + std::to_string(needed));
  }
  return {};
}

Status check_edge(const LanePlan& plan, std::size_t lane, const LaneEdge& edge) {
  if (!edge.all && edge.gather >= kMaxGathers) {
    return lane_error(
        lane, edge_name(edge) + " is out of range, at most " + std::to_string(kMaxGathers) + " are possible");
  }
  if (Status status = check_source(plan, lane, edge.from, edge_name(edge)); !status) return status;
  if (!edge.all) {
    if (Status status = check_steps(plan, lane, edge); !status) return status;
    if (edge.before_first != LaneEdge::kNone) {
      if (edge.before_first == lane)
        return lane_error(lane, edge_name(edge) + ": its first step reads its own last");
      Status status = check_source(plan, lane, edge.before_first, "the first step of " + edge_name(edge));
      if (!status) return status;
    }
  }
  return check_ring(plan, lane, edge);
}

Status check_lane(const LanePlan& plan, std::size_t lane) {
  const LaneSpec& spec = plan.lanes[lane];
  if (spec.length_of >= LanePlan::kMaxLengths) {
    return lane_error(lane, "length " + std::to_string(spec.length_of) + " is out of range, at most " +
                                std::to_string(LanePlan::kMaxLengths) + " are possible");
  }
  std::uint32_t seen = 0;
  bool seen_all = false;
  for (const LaneEdge& edge : spec.edges) {
    if (Status status = check_edge(plan, lane, edge); !status) return status;
    const std::uint32_t bit = edge.all ? 0 : 1U << edge.gather;
    if ((seen & bit) != 0 || (edge.all && seen_all)) {
      return lane_error(lane, edge_name(edge) + " has two sources");
    }
    seen |= bit;
    seen_all = seen_all || edge.all;
  }
  for (std::uint8_t input : spec.pulls) {
    if (input >= kMaxInputs) return lane_error(lane, "input " + std::to_string(input) + " is out of range");
  }
  for (const LanePush& push : spec.pushes) {
    if (push.output != LanePush::kNowhere && push.output >= kMaxOutputs) {
      return lane_error(lane, "output " + std::to_string(push.output) + " is out of range");
    }
  }
  return {};
}

}  // namespace

Status LanePlan::validate() const {
  if (lanes.empty()) return invalid("a lane plan needs at least one lane");
  if (lanes.size() > kMaxLanes) {
    return invalid("a lane plan of " + std::to_string(lanes.size()) + " lanes is too large: at most " +
                   std::to_string(kMaxLanes));
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (Status status = check_lane(*this, lane); !status) return status;
  }
  const LaneOrder order(*this);
  if (auto lane = order.find_cycle()) return lane_error(*lane, "a step depends on itself");
  if (auto lane = order.find_small_ring()) {
    return lane_error(*lane, "its ring of " + std::to_string(lanes[*lane].ring) +
                                 " is too small: a step would overwrite a state that it waits to see read");
  }
  return {};
}

}  // namespace volvox
