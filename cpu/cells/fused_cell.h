#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cells/ir/fused_pattern.h"
#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/row_source.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

// A cell that is one product, with or without an LSTM update in its epilogue: operands are read where they
// lie, states are written where they belong, nothing is copied in between.
class FusedCell final : public CpuCell {
 public:
  static Result<std::unique_ptr<CpuCell>> make(const Cell& cell, const FusedPattern& pattern,
                                               const Weights& weights, const CompileOptions& options,
                                               PoolFinder& pools);

  Status run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const override;
  const RowShape& shape() const override { return shape_; }
  double flops_per_row() const override { return product_.flops_per_row(); }
  std::string kernel() const override { return lstm_ ? "lstm" : "product"; }

 private:
  FusedCell(const Cell& cell, PackedProduct product)
      : shape_(row_shape(cell)), product_(std::move(product)) {}
  Status find_states(const Cell& cell, const FusedPattern& pattern, const Weights& weights,
                     const CompileOptions& options, PoolFinder& pools);
  Status resolve(const ResolvedRows& rows, Workspace& work) const;
  void push(const ResolvedRows& rows, const Workspace& work) const;

  RowShape shape_;
  PackedProduct product_;
  bool lstm_ = false;
  std::vector<RowSource> terms_;
  std::vector<std::size_t> widths_;
  std::optional<RowSource> start_, c_in_;
  PlaneView out_, c_out_;
  std::vector<FusedPattern::Push> pushes_;
};

}  // namespace volvox::cpu
