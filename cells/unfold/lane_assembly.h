#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/lane_plan.h"
#include "cells/model/assembly.h"

namespace volvox {

// Builds the lanes of a model's plan, for unfoldings whose requests run in lanes: cells first, then lanes of
// them. A cell becomes a type with a pool of its own; where it is worth it, two (cells/ir/split.h), whose
// eager one has a lane beside each lane of the cell. Errors name the file and the line.
class LaneAssembly {
 public:
  explicit LaneAssembly(Assembly& assembly);

  // Its number for add_lane().
  Result<std::size_t> add_cell(const CellDefinition& definition, Cell whole);

  // A lane of a cell. The cell's gather 0 reads the lane's own step before; gather i + 1 reads the same step
  // of lane from[i], which add_lane() gave. Returns the lane's number.
  Result<std::uint8_t> add_lane(std::size_t cell, const LaneDefinition& definition,
                                std::span<const std::uint8_t> from = {});

  // After the last lane: every output is written by one of them.
  Status finish() const;

 private:
  // A cell as types of the model.
  struct Parts {
    std::optional<std::uint8_t> eager{};
    std::uint8_t core = 0;
    std::uint32_t gather = 0;  // of the core: reads the eager part
    Cell whole{};
    bool used = false;
  };

  Status connect(Parts& parts, const LaneDefinition& definition, std::span<const std::uint8_t> from);
  Status check_states(const Parts& parts, const LaneDefinition& definition,
                      std::span<const std::uint8_t> from) const;

  Assembly& assembly_;
  Model& model_;
  std::vector<Parts> cells_;
  std::vector<std::uint8_t> depths_;  // by lane: how many lanes lie below it
  std::vector<bool> written_;         // by output
};

}  // namespace volvox
