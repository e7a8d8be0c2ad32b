#include "cpu/fused/fused_cell.h"

#include <cstring>
#include <utility>

#include "cells/patterns/matcher.h"
#include "cpu/cells/packing.h"
#include "device/host_memory.h"

namespace volvox::cpu {

Result<std::unique_ptr<CpuCell>> FusedCell::make(const Cell& cell, const Weights& weights,
                                                 const CompileOptions& options, PoolFinder& pools,
                                                 const Kernels& kernels) {
  const auto all = fused_kernels();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto plan = all[i]->match(cell);
    if (!plan) continue;
    auto product = pack_product(cell, *plan->product, weights, plan->gates, kernels.lanes);
    if (!product) return tl::unexpected(product.error());
    std::unique_ptr<FusedCell> made(new FusedCell(cell, std::move(*product), *all[i], kernels.fused[i]));
    if (Status ok = made->find_rows(cell, *plan, weights, options, pools); !ok)
      return tl::unexpected(ok.error());
    return made;
  }
  return nullptr;
}

Status FusedCell::find_rows(const Cell& cell, const FusedPlan& plan, const Weights& weights,
                            const CompileOptions& options, PoolFinder& pools) {
  const auto find = [&](ValueId value, std::vector<RowSource>& into) -> Status {
    auto source = RowSource::make(cell, value, weights, options, pools);
    if (!source) return tl::unexpected(source.error());
    into.push_back(std::move(*source));
    return {};
  };
  for (ValueId value : product_terms(*plan.product)) {
    if (Status ok = find(value, terms_); !ok) return ok;
    widths_.push_back(static_cast<std::size_t>(elements(cell.values[value].shape)));
  }
  if (const ValueId value = product_start(*plan.product); value != kNoValue) {
    auto source = RowSource::make(cell, value, weights, options, pools);
    if (!source) return tl::unexpected(source.error());
    start_ = std::move(*source);
  }
  for (const FusedPlan::Input& input : plan.inputs) {
    if (Status ok = find(input.value, inputs_); !ok) return ok;
    begins_.push_back(input.begin);
  }
  for (const Operator* scatter : plan.outputs) {
    auto plane = find_plane(cell, *scatter, options, pools);
    if (!plane) return tl::unexpected(plane.error());
    outputs_.push_back(*plane);
  }
  pushes_ = plan.pushes;
  return {};
}

Status FusedCell::resolve(const ResolvedRows& rows, Workspace& work) const {
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (Status ok = terms_[t].resolve(rows, work.terms[t]); !ok) return ok;
  }
  if (start_) {
    if (Status ok = start_->resolve(rows, work.start); !ok) return ok;
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (Status ok = inputs_[i].resolve(rows, work.in[i]); !ok) return ok;
    if (begins_[i] == 0) continue;
    for (std::size_t r = 0; r < rows.real_rows; ++r) work.in[i][r] += begins_[i];
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (Status ok = resolve_out(rows, outputs_[i], work.out[i]); !ok) return ok;
  }
  return {};
}

Status FusedCell::run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const {
  if (Status ok = resolve(rows, work); !ok) return ok;
  std::array<ProductTerm, kMaxTerms> terms;
  for (std::size_t t = 0; t < terms_.size(); ++t) terms[t] = {work.terms[t].data(), widths_[t]};
  ProductCall call;
  call.product = &product_;
  call.kernel = block_;
  call.rows = rows.real_rows;
  call.terms = terms.data();
  call.term_count = terms_.size();
  call.start = start_ ? work.start.data() : nullptr;
  for (std::size_t i = 0; i < inputs_.size(); ++i) call.in[i] = work.in[i].data();
  for (std::size_t i = 0; i < outputs_.size(); ++i) call.out[i] = work.out[i].data();
  work.runner.run(team, call);
  push(rows, work);
  return {};
}

void FusedCell::push(const ResolvedRows& rows, const Workspace& work) const {
  for (const FusedPlan::Push& push : pushes_) {
    const auto& from = work.out[push.output];
    const std::size_t bytes = outputs_[push.output].row_bytes;
    for (const ResolvedRows::Push& result : rows.pushes[push.index]) {
      if (result.row >= rows.real_rows) continue;
      std::memcpy(at_address(result.address), from[result.row], bytes);
    }
  }
}

}  // namespace volvox::cpu
