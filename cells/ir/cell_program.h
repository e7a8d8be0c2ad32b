#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// An inferred cell with its weights found: what CellEvaluator runs. Read-only after make(), so any thread may
// use it; the bytes of the weights must outlive it.
class CellProgram {
 public:
  // Infers the cell again, against the weights. Errors as infer().
  static Result<CellProgram> make(Cell cell, const Weights& weights, std::string_view model = {});

  struct Step {
    std::vector<const float*> weights;
    std::int64_t rows = 0;     // of the first weight
    std::uint32_t number = 0;  // counts the operators of its kind
  };

  const Cell& cell() const { return cell_; }
  // One for each operator of cell(), in the same order.
  std::span<const Step> steps() const { return steps_; }
  // How many operators of this kind the cell has.
  std::uint32_t count(const OpDef& kind) const;

 private:
  Cell cell_;
  std::vector<Step> steps_;
};

// Where one row of a cell finds everything. f32 states are in the evaluator's own real type (float for a
// device's planes, double for the reference), as are f32 results; inputs are always float, as clients send
// them. Other types are what they are. No place may be written by one row that the same row reads.
struct CellRow {
  std::span<const void* const> gathers;  // one for each `gather`, in their order
  std::span<const void* const> ragged;   // predecessor e of `gather_all` number g: ragged[g * edges + e]
  std::uint32_t edges = 0;
  std::array<const void*, kMaxPulls> pulls{};  // by number of the input
  std::span<void* const> scatters;             // one for each `scatter`, in their order
  std::array<void*, kMaxPushes> pushes{};      // by number of the result; nullptr: not wanted
};

}  // namespace volvox
