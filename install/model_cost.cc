#include "install/model_cost.h"

#include <algorithm>
#include <map>

#include "batching/cost.h"

namespace volvox {

double ModelCost::step_us(std::uint32_t requests) const {
  if (rows <= 1) return full_us;
  const double share = double(std::clamp(requests, 1U, rows) - 1) / double(rows - 1);
  return alone_us + share * (full_us - alone_us);
}

// Nodes of one request run beside each other as those of several do, so each costs its share of a full batch,
// whoever is there. Types are taken to be equally frequent, as leaves and inner nodes of a binary tree are.
static ModelCost node_cost(std::span<const TypeConfig> types, std::uint32_t workers) {
  double unit = 0;
  for (const TypeConfig& type : types)
    unit += task_cost_us(type, type.max_batch) / std::max(1U, type.max_batch);
  ModelCost cost;
  cost.full_us = types.empty() ? 0 : unit / double(types.size()) / std::max(1U, workers);
  cost.alone_us = cost.full_us;
  return cost;
}

ModelCost model_cost(const LanePlan& plan, std::span<const TypeConfig> types, std::uint32_t workers) {
  if (plan.lanes.empty()) return node_cost(types, workers);
  const CellTypeId first = types.empty() ? 0 : types.front().id;
  std::map<CellTypeId, std::uint32_t> lanes;  // of each type: they share its batches
  for (const LaneSpec& lane : plan.lanes) ++lanes[lane.type - first];
  std::uint32_t batch = 0;  // requests in a full one
  for (const auto& [id, count] : lanes) {
    const std::uint32_t requests = std::max(1U, types[id].max_batch / count);
    if (!types[id].independent) batch = batch == 0 ? requests : std::min(batch, requests);
  }
  batch = std::max(1U, batch);
  ModelCost cost;
  for (const auto& [id, count] : lanes) {
    const TypeConfig& type = types[id];
    if (type.independent) {  // many steps of one request run at once
      const double unit = task_cost_us(type, type.max_batch) / std::max(1U, type.max_batch);
      cost.alone_us += unit * count;
      cost.full_us += unit * count * batch;
    } else {
      cost.alone_us += task_cost_us(type, count);
      cost.full_us += task_cost_us(type, count * batch);
    }
  }
  // More workers step more requests in the same time.
  cost.rows = batch * std::max(1U, workers);
  return cost;
}

}  // namespace volvox
