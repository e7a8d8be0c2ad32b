#include "gpu/fused/lstm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cells/patterns/lstm.h"
#include "cells/patterns/matcher.h"
#include "gpu/program/plan_leaves.h"

namespace volvox::gpu {
namespace {

std::uint32_t width_of(const Cell& cell, ValueId value) {
  return static_cast<std::uint32_t>(elements(cell.values[value].shape));
}

bool fits(const Cell& cell, const LstmPattern& pattern, Precision precision) {
  if (precision == Precision::kFloat32) return false;
  const auto terms = product_terms(*pattern.product);
  const std::uint32_t units = width_of(cell, pattern.product->output) / 4;
  return units % kLstmDepth == 0 && terms.size() <= kLstmTerms &&
         std::all_of(terms.begin(), terms.end(),
                     [&](ValueId v) { return width_of(cell, v) % kLstmDepth == 0; });
}

Place result_place(std::uint32_t index) {
  Place place;
  place.kind = Place::Kind::kResult;
  place.index = static_cast<std::uint8_t>(index);
  return place;
}

// The operands and the packed weights.
Status add_terms(LstmCall& call, const Operator& product, PlanLeaves& leaves) {
  const Cell& cell = leaves.cell();
  std::vector<const Tensor*> tensors;
  for (ValueId term : product_terms(product)) {
    const std::uint32_t wide = width_of(cell, term);
    auto tensor = leaves.weight(product.weights[call.term_count], {width_of(cell, product.output), wide});
    if (!tensor) return tl::unexpected(tensor.error());
    auto place = leaves.leaf(*cell.producer(term), 0);
    if (!place) return tl::unexpected(place.error());
    tensors.push_back(*tensor);
    call.widths[call.term_count] = wide;
    call.terms[call.term_count++] = *place;
    call.width += wide;
  }
  auto packed = leaves.keep(pack_lstm(tensors, call.units, call.type));
  if (!packed) return tl::unexpected(packed.error());
  call.weights = *packed;
  return {};
}

// Where the sums start, the old c, and where results go.
Status add_places(LstmCall& call, const LstmPattern& pattern, PlanLeaves& leaves) {
  const Cell& cell = leaves.cell();
  const Operator& product = *pattern.product;
  const ValueId start = product_start(product);
  Status status;
  const auto put = [&](Place& to, const Result<Place>& found) {
    if (found) to = *found;
    if (!found && status) status = tl::unexpected(found.error());
  };
  call.start.kind = Place::Kind::kVector;  // at no address: zeros
  if (product.has_bias)
    put(call.start, leaves.constant(product.weights.back(), {width_of(cell, product.output)}));
  if (start != kNoValue) put(call.start, leaves.leaf(*cell.producer(start), 0));
  put(call.c_in, leaves.leaf(*cell.producer(pattern.c_in.front()), 0));
  put(call.h_out, leaves.out(*pattern.h_scatter));
  put(call.c_out, leaves.out(*pattern.c_scatter));
  for (const LstmPattern::Push& push : pattern.pushes) {
    (push.cell_state ? call.c_push[call.c_pushes++] : call.h_push[call.h_pushes++]) =
        result_place(push.index);
  }
  return status;
}

Result<std::shared_ptr<const FusedStep>> plan(PlanLeaves& leaves) {
  const auto pattern = match_lstm(leaves.cell());
  const Precision precision = leaves.options().precision;
  if (!pattern || !fits(leaves.cell(), *pattern, precision)) return nullptr;
  LstmCall call;
  call.units = width_of(leaves.cell(), pattern->product->output) / 4;
  call.type = operand_type(precision);
  call.tf32 = precision == Precision::kTf32 ? 1 : 0;
  if (Status ok = add_terms(call, *pattern->product, leaves); !ok) return tl::unexpected(ok.error());
  if (Status ok = add_places(call, *pattern, leaves); !ok) return tl::unexpected(ok.error());
  return std::make_shared<const LstmStep>(call);
}

// As the tensor cores see an operand.
float rounded(float x, ElementType type) {
  if (type == ElementType::kBf16) return from_bfloat16(to_bfloat16(x));
  return type == ElementType::kF16 ? from_float16(to_float16(x)) : to_tf32(x);
}

void unit_on_host(const LstmCall& call, const TaskHeader& task, std::uint32_t row, std::uint32_t unit) {
  float sums[4] = {0, 0, 0, 0};
  const std::uint32_t block = unit / kLstmUnits, size = element_bytes(call.type);
  for (std::uint32_t k = 0; k < call.width; ++k) {
    const float x = rounded(lstm_operand(call, task, row, k), call.type);
    for (std::uint32_t gate = 0; gate < 4; ++gate) {
      const std::uint64_t column = gate * kLstmUnits + unit % kLstmUnits;
      const std::uint64_t element = (std::uint64_t{block} * call.width + k) * kLstmColumns + column;
      const float weight = float_of(load_bits(call.weights + element * size, call.type));
      sums[gate] = std::fma(x, rounded(weight, call.type), sums[gate]);
    }
  }
  lstm_update(call, task, row, unit, sums);
}

}  // namespace

extern const FusedKernel kLstmFused;
const FusedKernel kLstmFused = {"lstm", plan};

std::string LstmStep::shape() const {
  return std::to_string(call_.units) + " units of " + std::to_string(call_.width) + " in " +
         std::to_string(call_.term_count);
}

LstmCall LstmStep::call(const FusedTask& task) const {
  LstmCall call = call_;
  call.task = task;
  return call;
}

void LstmStep::run_on_host(const FusedTask& task) const {
  const LstmCall made = call(task);
  const TaskHeader& header = current_task(task.queue);
  for (std::uint32_t row = 0; row < task.rows; ++row) {
    for (std::uint32_t unit = 0; unit < made.units; ++unit) unit_on_host(made, header, row, unit);
  }
  finish_task(task.queue);
}

std::vector<std::byte> pack_lstm(std::span<const Tensor* const> terms, std::uint32_t units,
                                 ElementType type) {
  std::size_t width = 0;
  for (const Tensor* term : terms) width += static_cast<std::size_t>(term->shape[1]);
  const std::size_t blocks = (units + kLstmUnits - 1) / kLstmUnits, size = element_bytes(type);
  std::vector<std::byte> packed(blocks * width * kLstmColumns * size);
  std::byte* to = packed.data();
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (const Tensor* term : terms) {
      const auto wide = static_cast<std::size_t>(term->shape[1]);
      for (std::size_t k = 0; k < wide; ++k) {
        for (std::uint32_t column = 0; column < kLstmColumns; ++column, to += size) {
          const std::uint32_t unit = lstm_unit(block, column);
          if (unit >= units) continue;
          store_element(to, type, term->f32()[(lstm_gate(column) * std::size_t{units} + unit) * wide + k]);
        }
      }
    }
  }
  return packed;
}

}  // namespace volvox::gpu
