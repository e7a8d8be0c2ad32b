#pragma once

#include <span>
#include <string>

#include "gpu/driver/driver.h"
#include "gpu/program/cell_plan.h"

namespace volvox::gpu {

// The stages of a plan as CUDA C++: the programs of each with their places as constants, so that what an
// interpreter looks up for each element is known to the compiler. Addresses are not part of it: equal cells
// give equal text in every process. The same operations in the same order as interpreted, so the same bits.
StageSource stage_source(const CellPlan& plan, std::span<const Place> places);

}  // namespace volvox::gpu
