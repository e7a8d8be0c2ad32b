#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cells/ir/cell.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

// How a fused kernel computes a cell: one product, in whose blocks the kernel's step makes results of the
// sums while these are in registers. Operands are read where they lie, states are written where they belong.
struct FusedPlan {
  struct Push {
    std::uint32_t index = 0;  // which of the cell's results
    std::size_t output = 0;   // of the step
  };
  // What the step reads besides: so many elements of a value that lies in memory, from `begin` on.
  struct Input {
    ValueId value = kNoValue;
    std::size_t begin = 0;
  };
  const Operator* product = nullptr;  // its terms and its start lie_in_memory()
  Gates gates = kPlain;               // as many groups has the step, of plain ones kPlainGroups
  std::vector<Input> inputs;
  std::vector<const Operator*> outputs;  // scatters of what the step writes
  std::vector<Push> pushes;
};

// One of the kernels that compute cells of a form as a whole. Each source NAME.cc in cpu/fused that has a
// NAME_step.h beside it defines one, kNameFused, and nothing else must name it: the build collects them
// (cpu/CMakeLists.txt), and compiles NameStep, which is in that header, for every instruction set. At most
// one should know a cell; the first that does, in the order of their names, computes it. Immutable; any
// thread.
struct FusedKernel {
  std::string_view name;
  // Nothing when the cell is not of its form. The plan points into the cell.
  std::optional<FusedPlan> (*match)(const Cell& cell) = nullptr;
};

// All there are.
std::span<const FusedKernel* const> fused_kernels();

}  // namespace volvox::cpu
