#pragma once

#include <cstdint>

#include "base/error.h"
#include "cells/model/model.h"
#include "cells/unfold/reference_order.h"

namespace volvox {

// What unfoldings have in common whose requests run in the lanes of Model::plan.

// The plan is sound, and its lanes agree with the model's cells, pools, inputs and outputs.
Status check_lanes(const Model& model);

// Slots of one pool that a request's lanes hold: a ring each, or their whole length.
std::uint64_t lane_slots(const Model& model, PoolId pool, const Lengths& lengths);

// Lane by lane as far as it can go, again and again. From the meaning of edges (cells/ir/lane_plan.h) alone.
ReferenceOrder lane_reference_order(const LanePlan& plan, const Lengths& lengths);

}  // namespace volvox
