#include "gpu/program/fused_plan.h"

#include <algorithm>

#include "cells/patterns/lstm.h"
#include "cells/patterns/matcher.h"
#include "gpu/program/cell_planner.h"

namespace volvox::gpu {
namespace {

std::uint32_t width_of(const Cell& cell, ValueId value) {
  return static_cast<std::uint32_t>(elements(cell.values[value].shape));
}

bool fits(const Cell& cell, const LstmPattern& pattern, Precision precision) {
  if (precision == Precision::kFloat32) return false;
  const auto terms = product_terms(*pattern.product);
  const std::uint32_t units = width_of(cell, pattern.product->output) / 4;
  return units % kFusedDepth == 0 && terms.size() <= kFusedTerms &&
         std::all_of(terms.begin(), terms.end(),
                     [&](ValueId v) { return width_of(cell, v) % kFusedDepth == 0; });
}

Place result_place(std::uint32_t index) {
  Place place;
  place.kind = Place::Kind::kResult;
  place.index = static_cast<std::uint8_t>(index);
  return place;
}

}  // namespace

std::vector<std::byte> pack_fused(std::span<const Tensor* const> terms, std::uint32_t units,
                                  ElementType type) {
  std::size_t width = 0;
  for (const Tensor* term : terms) width += static_cast<std::size_t>(term->shape[1]);
  const std::size_t blocks = (units + kFusedUnits - 1) / kFusedUnits, size = element_bytes(type);
  std::vector<std::byte> packed(blocks * width * kFusedColumns * size);
  std::byte* to = packed.data();
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (const Tensor* term : terms) {
      const auto wide = static_cast<std::size_t>(term->shape[1]);
      for (std::size_t k = 0; k < wide; ++k) {
        for (std::uint32_t column = 0; column < kFusedColumns; ++column, to += size) {
          const std::uint32_t unit = fused_unit(block, column);
          if (unit >= units) continue;
          store_element(to, type, term->f32()[(fused_gate(column) * std::size_t{units} + unit) * wide + k]);
        }
      }
    }
  }
  return packed;
}

Result<std::optional<FusedCall>> plan_fused(const Cell& cell, const Weights& weights,
                                            const PlanOptions& options, const PlanResources& resources,
                                            CellPlan& plan) {
  const auto pattern = match_lstm(cell);
  if (!pattern || !fits(cell, *pattern, options.precision)) return std::optional<FusedCall>{};
  CellPlanner planner(cell, weights, options, resources);
  return planner.fused(*pattern, plan);
}

// Private to program/: the planner knows where everything lies.
Result<std::optional<FusedCall>> CellPlanner::fused(const LstmPattern& pattern, CellPlan& plan) {
  std::swap(plan_, plan);  // places are added to those of the generic path
  auto made = fused_call(pattern);
  std::swap(plan_, plan);
  if (!made) return tl::unexpected(made.error());
  return std::optional<FusedCall>(*made);
}

Result<FusedCall> CellPlanner::fused_call(const LstmPattern& pattern) {
  FusedCall call;
  const Operator& product = *pattern.product;
  call.units = width_of(cell_, product.output) / 4;
  call.type = operand_type(options_.precision);
  call.tf32 = options_.precision == Precision::kTf32 ? 1 : 0;
  std::vector<const Tensor*> tensors;
  Status status;
  const auto place = [&](const Result<Place>& found) {
    if (!found && status) status = tl::unexpected(found.error());
    return found.value_or(Place{});
  };
  for (ValueId term : product_terms(product)) {
    const std::uint32_t wide = width_of(cell_, term);
    auto tensor = weight(product.weights[call.term_count], {width(product.output), wide});
    if (!tensor) return tl::unexpected(tensor.error());
    tensors.push_back(*tensor);
    call.widths[call.term_count] = wide;
    call.terms[call.term_count++] = place(leaf(*cell_.producer(term), 0));
    call.width += wide;
  }
  call.start.kind = Place::Kind::kVector;  // at no address: zeros
  if (product.has_bias) call.start = place(constant(product.weights.back(), {width(product.output)}));
  const ValueId start = product_start(product);
  if (start != kNoValue) call.start = place(leaf(*cell_.producer(start), 0));
  call.c_in = place(leaf(*cell_.producer(pattern.c_in), 0));
  call.h_out = place(state(*pattern.h_scatter, options_.compile.out_pool, Place::Kind::kOut));
  call.c_out = place(state(*pattern.c_scatter, options_.compile.out_pool, Place::Kind::kOut));
  for (const LstmPattern::Push& push : pattern.pushes) {
    (push.cell_state ? call.c_push[call.c_pushes++] : call.h_push[call.h_pushes++]) =
        result_place(push.index);
  }
  if (!status) return tl::unexpected(status.error());
  auto packed = resources_.keep(pack_fused(tensors, call.units, call.type));
  if (!packed) return tl::unexpected(packed.error());
  call.weights = *packed;
  return call;
}

}  // namespace volvox::gpu
