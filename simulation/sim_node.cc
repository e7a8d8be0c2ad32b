#include "simulation/sim_node.h"

#include "batching/cost.h"

namespace volvox {

double SimCost::task_ns(std::uint32_t rows) const {
  return 1000 * task_cost_us(type, rows);
}

SimCost linear_cost(double task_us, double row_us, std::uint32_t max_rows) {
  SimCost cost;
  cost.type.max_batch = max_rows;
  cost.type.costs = {{1, task_us + row_us}};
  if (max_rows > 1) cost.type.costs.push_back({max_rows, task_us + row_us * max_rows});
  return cost;
}

}  // namespace volvox
