#include "batching/cost.h"

#include <algorithm>

namespace volvox {

double task_cost_us(const TypeConfig& type, std::uint32_t rows) {
  const auto& costs = type.costs;
  if (costs.empty()) return rows;
  auto above =
      std::lower_bound(costs.begin(), costs.end(), rows,
                       [](const CompiledCell::Cost& cost, std::uint32_t n) { return cost.rows < n; });
  if (above == costs.end()) return costs.back().us * rows / std::max(1U, costs.back().rows);
  if (above == costs.begin() || above->rows == rows) return above->us;
  const auto& below = *(above - 1);
  const double share = double(rows - below.rows) / double(above->rows - below.rows);
  return below.us + share * (above->us - below.us);
}

BatchSize choose_batch_size(const TypeConfig& type, std::uint32_t ready) {
  const std::uint32_t rows = std::min(ready, type.max_batch);
  const auto& sizes = type.sizes;
  if (sizes.empty()) return {rows, rows};
  auto above = std::lower_bound(sizes.begin(), sizes.end(), rows);
  if (above == sizes.end()) return {sizes.back(), sizes.back()};
  if (*above == rows || above == sizes.begin()) return {rows, *above};
  const std::uint32_t below = *(above - 1);
  const double cost_above = task_cost_us(type, *above) / rows;
  const double cost_below = task_cost_us(type, below) / below;
  return cost_below < cost_above ? BatchSize{below, below} : BatchSize{rows, *above};
}

}  // namespace volvox
