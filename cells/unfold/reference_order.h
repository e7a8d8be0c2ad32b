#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cells/ir/lane_plan.h"
#include "cells/ir/types.h"

namespace volvox {

// A request's cells one by one, predecessors first, as the reference computes them. Spans point into the
// model, which must live as long.
struct ReferenceOrder {
  static constexpr std::uint32_t kInitial = ~std::uint32_t{0};  // the initial value, not a cell's state

  struct Node {
    CellTypeId type = 0;
    std::array<std::uint32_t, kMaxGathers> gathers{kInitial, kInitial, kInitial, kInitial};  // earlier nodes
    std::uint32_t first_listed = 0, listed = 0;  // of `list`: the ragged list of earlier nodes
    std::uint32_t row = 0;                       // of the inputs that it reads, a step of its sequence
    std::uint32_t answer_row = 0;                // of the outputs that it writes
    std::uint8_t sequence = 0;                   // whose step it is
    bool last = false;                           // it also writes the outputs that have one row
    std::span<const std::uint8_t> pulls{};
    std::span<const LanePush> pushes{};
  };
  static_assert(kMaxGathers == 4);

  std::vector<Node> nodes{};
  std::vector<std::uint32_t> list{};
};

}  // namespace volvox
