#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/row_source.h"
#include "cpu/fused/fused_kernel.h"
#include "cpu/kernel/kernels.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

// A cell that a fused kernel computes: nothing is copied between its operators.
class FusedCell final : public CpuCell {
 public:
  // Null when no fused kernel knows the cell.
  static Result<std::unique_ptr<CpuCell>> make(const Cell& cell, const Weights& weights,
                                               const CompileOptions& options, PoolFinder& pools,
                                               const Kernels& kernels);

  Status run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const override;
  const RowShape& shape() const override { return shape_; }
  double flops_per_row() const override { return product_.flops_per_row(); }
  std::uint64_t packed_bytes() const override { return product_.bytes(); }
  std::string kernel() const override { return std::string(kernel_->name); }

 private:
  FusedCell(const Cell& cell, PackedProduct product, const FusedKernel& kernel, BlockKernel block)
      : shape_(row_shape(cell)), product_(std::move(product)), kernel_(&kernel), block_(block) {}
  Status find_rows(const Cell& cell, const FusedPlan& plan, const Weights& weights,
                   const CompileOptions& options, PoolFinder& pools);
  Status resolve(const ResolvedRows& rows, Workspace& work) const;
  void push(const ResolvedRows& rows, const Workspace& work) const;

  RowShape shape_;
  PackedProduct product_;
  const FusedKernel* kernel_;
  BlockKernel block_;
  std::vector<RowSource> terms_, inputs_;
  std::vector<std::size_t> widths_, begins_;  // of the terms; of the inputs, in their rows
  std::optional<RowSource> start_;
  std::vector<PlaneView> outputs_;
  std::vector<FusedPlan::Push> pushes_;
};

}  // namespace volvox::cpu
