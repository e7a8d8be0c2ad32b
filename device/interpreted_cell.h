#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell_program.h"
#include "device/device.h"
#include "device/planes.h"
#include "device/row_table.h"

namespace volvox {

// A compiled cell of a device that interprets: the program, and the planes that its operators name. Read-only
// once made.
class InterpretedCell {
 public:
  using FindPool = std::function<const Planes*(PoolId)>;  // nullptr: there is none

  // The planes must stay where they are. Fails when a pool or a state in it is missing, or a weight.
  static Result<std::unique_ptr<const InterpretedCell>> make(const Cell& cell, const Weights& weights,
                                                             const CompileOptions& options,
                                                             const FindPool& pools);

  // Evaluates the rows of one task, padding included. Every slot and address must be good, and no row may
  // write what another reads. Several threads may call at once for rows that do not touch the same slots.
  void evaluate(const ResolvedRows& rows) const;

  const CompileOptions& options() const { return options_; }
  const RowShape& shape() const { return shape_; }
  bool scatters() const { return !scatters_.empty(); }
  bool cheap() const { return cheap_; }  // no product: fit to be interpreted under load
  double flops_per_row() const { return flops_per_row_; }
  std::size_t pull_bytes(std::uint32_t pull) const { return pull_bytes_[pull]; }  // of one row
  std::size_t push_bytes(std::uint32_t push) const { return push_bytes_[push]; }

 private:
  struct Gather {
    const Plane* plane;
    std::uint32_t index;  // of the gather; unused for ragged lists
  };
  class Places;

  Status bind(const Operator& op, const FindPool& pools);
  void measure(const Operator& op);

  Weights weights_;  // the program points into them
  CellProgram program_;
  CompileOptions options_;
  RowShape shape_;
  std::vector<Gather> gathers_, ragged_;  // one for each operator of the kind, in their order
  std::vector<const Plane*> scatters_;
  std::array<std::size_t, kMaxPulls> pull_bytes_{};
  std::array<std::size_t, kMaxPushes> push_bytes_{};
  double flops_per_row_ = 0;
  bool cheap_ = true;
};

}  // namespace volvox
