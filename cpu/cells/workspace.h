#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cells/patterns/matcher.h"
#include "cpu/cells/generic_scratch.h"
#include "cpu/product_runner.h"

namespace volvox::cpu {

// What one queue needs to run cells, kept from task to task so that nothing is allocated in steady state.
// Owned by the queue's executor.
struct Workspace {
  explicit Workspace(ProductRunner made) : runner(std::move(made)) {}

  ProductRunner runner;
  // Row pointers of the running task.
  std::array<std::vector<const float*>, kMaxTerms> terms;
  std::vector<const float*> start;
  std::array<std::vector<const float*>, kMaxStepInputs> in;
  std::array<std::vector<float*>, kMaxStepOutputs> out;
  std::vector<std::uint32_t> counts;  // units of each owner
  // One for each thread of the team.
  std::vector<std::unique_ptr<GenericScratch>> generic;
  AlignedBuffer crossing;  // values of all rows that a stage of a generic cell hands to the next
};

}  // namespace volvox::cpu
