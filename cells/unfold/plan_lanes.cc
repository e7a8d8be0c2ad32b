#include "cells/unfold/plan_lanes.h"

#include <cstddef>
#include <string>
#include <vector>

#include "cells/ops/ops.h"
#include "cells/unfold/unfolding.h"

namespace volvox {
namespace {

Status check_lane(const Model& model, std::size_t number) {
  const LaneSpec& lane = model.plan.lanes[number];
  const std::string whose = "lane " + std::to_string(number);
  const auto wrong = [&](const std::string& what) { return model_error(model, whose + ": " + what); };
  if (lane.type >= model.types.size()) return wrong("its cell does not exist");
  const CellTypeSpec& type = model.types[lane.type];
  if (lane.pool != type.out_pool) return wrong("its pool is not that of its cell");
  if (lane.has_state != !type.cell.states.empty()) return wrong("its cell disagrees about having state");
  for (const LaneEdge& edge : lane.edges) {
    const PoolId pool = edge.all ? type.ragged_pool : type.gather_pools[edge.gather];
    if (model.plan.lanes[edge.from].pool != pool)
      return wrong("reads a lane whose states are in another pool");
    if (edge.before_first != LaneEdge::kNone && model.plan.lanes[edge.before_first].pool != pool) {
      return wrong("begins with a lane whose states are in another pool");
    }
  }
  if (lane.length_of >= model.sequences.size()) return wrong("runs over a sequence that does not exist");
  for (const Operator& op : type.cell.operators) {
    if (op.is(kPullOp) && model.inputs[lane.pulls[op.index]].sequence != lane.length_of)
      return wrong("reads an input whose rows are steps of another sequence");
  }
  for (const LanePush& push : lane.pushes) {
    if (push.output != LanePush::kNowhere && push.every &&
        model.outputs[push.output].sequence != lane.length_of)
      return wrong("writes an output whose rows are steps of another sequence");
  }
  return check_bindings(model, lane.type, lane.pulls, lane.pushes, whose);
}

// Goes through one request's lanes.
class LaneWalk {
 public:
  LaneWalk(const LanePlan& plan, const Lengths& lengths)
      : plan_(plan), lengths_(lengths), ids_(plan.lanes.size()) {}

  ReferenceOrder run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
        for (; ids_[lane].size() < length_of(lane) && is_ready(lane); moved = true) add(lane);
      }
    }
    return std::move(order_);
  }

 private:
  std::uint32_t length_of(std::size_t lane) const { return lengths_[plan_.lanes[lane].length_of]; }
  // The step of edge.from that step t reads; negative: none.
  std::int64_t source(const LaneEdge& edge, std::size_t t) const {
    return edge.offset + edge.stride * static_cast<std::int64_t>(t) +
           (edge.from_end ? std::int64_t{length_of(edge.from)} - 1 : 0);
  }
  bool is_done(std::size_t lane) const { return ids_[lane].size() == length_of(lane); }

  bool is_ready(std::size_t lane) const {
    for (const LaneEdge& edge : plan_.lanes[lane].edges) {
      if (edge.all && !is_done(edge.from)) return false;
      if (edge.all) continue;
      const std::int64_t s = source(edge, ids_[lane].size());
      if (s >= static_cast<std::int64_t>(ids_[edge.from].size())) return false;
      if (s < 0 && edge.before_first != LaneEdge::kNone && !is_done(edge.before_first)) return false;
    }
    return true;
  }

  std::uint32_t node_of(const LaneEdge& edge, std::size_t t) const {
    const std::int64_t s = source(edge, t);
    if (s >= 0) return ids_[edge.from][static_cast<std::size_t>(s)];
    return edge.before_first == LaneEdge::kNone ? ReferenceOrder::kInitial : ids_[edge.before_first].back();
  }

  void add(std::size_t lane) {
    const LaneSpec& spec = plan_.lanes[lane];
    const std::size_t t = ids_[lane].size();
    ReferenceOrder::Node node;
    node.type = spec.type;
    node.sequence = spec.length_of;
    node.row = node.answer_row =
        spec.reversed ? length_of(lane) - 1 - static_cast<std::uint32_t>(t) : static_cast<std::uint32_t>(t);
    node.last = t + 1 == length_of(lane);
    node.pulls = spec.pulls;
    node.pushes = spec.pushes;
    node.first_listed = static_cast<std::uint32_t>(order_.list.size());
    for (const LaneEdge& edge : spec.edges) {
      if (edge.all) {
        order_.list.insert(order_.list.end(), ids_[edge.from].begin(), ids_[edge.from].end());
      } else {
        node.gathers[edge.gather] = node_of(edge, t);
      }
    }
    node.listed = static_cast<std::uint32_t>(order_.list.size()) - node.first_listed;
    ids_[lane].push_back(static_cast<std::uint32_t>(order_.nodes.size()));
    order_.nodes.push_back(node);
  }

  const LanePlan& plan_;
  const Lengths& lengths_;
  std::vector<std::vector<std::uint32_t>> ids_;  // by lane: the nodes of its steps so far
  ReferenceOrder order_;
};

}  // namespace

Status check_lanes(const Model& model) {
  if (Status status = model.plan.validate(); !status) return model_error(model, status.error().message);
  for (std::size_t lane = 0; lane < model.plan.lanes.size(); ++lane) {
    if (Status status = check_lane(model, lane); !status) return status;
  }
  return {};
}

std::uint64_t lane_slots(const Model& model, PoolId pool, const Lengths& lengths) {
  std::uint64_t slots = 0;
  for (const LaneSpec& lane : model.plan.lanes) {
    if (lane.has_state && lane.pool == pool) slots += lane.ring != 0 ? lane.ring : lengths[lane.length_of];
  }
  return slots;
}

ReferenceOrder lane_reference_order(const LanePlan& plan, const Lengths& lengths) {
  return LaneWalk(plan, lengths).run();
}

}  // namespace volvox
