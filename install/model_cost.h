#pragma once

#include <cstdint>
#include <span>

#include "batching/scheduler_config.h"
#include "cells/ir/lane_plan.h"

namespace volvox {

// What the requests of one model cost, as its cell types' costs were measured when it was loaded: by the step
// of all its lanes, alone and in a full batch.
struct ModelCost {
  double weight = 1.0;                               // its share of device time beside other busy models
  std::uint32_t rows = 1;                            // requests that step together, on all workers
  double alone_us = 0;                               // one step of one request, nobody else there
  double full_us = 0;                                // one step of `rows` requests
  double unit_us() const { return full_us / rows; }  // a step's share of a full batch

  // One step of `requests` at once, at most `rows`.
  double step_us(std::uint32_t requests) const;
};

// `types` are those that the plan uses, by number, from the first one on. A plan without lanes: requests
// unfold into nodes, each of which is a step.
ModelCost model_cost(const LanePlan& plan, std::span<const TypeConfig> types, std::uint32_t workers);

}  // namespace volvox
