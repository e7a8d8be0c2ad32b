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

bool fits(const Cell& cell, const LstmPattern& pattern, const LstmLayout& layout) {
  const auto terms = product_terms(*pattern.product);
  const std::uint32_t units = width_of(cell, pattern.product->output) / 4;
  return units % layout.unit_multiple == 0 && terms.size() <= kLstmTerms &&
         std::all_of(terms.begin(), terms.end(),
                     [&](ValueId v) { return width_of(cell, v) % layout.width_multiple == 0; });
}

Place result_place(std::uint32_t index) {
  Place place;
  place.kind = Place::Kind::kResult;
  place.index = static_cast<std::uint8_t>(index);
  return place;
}

std::optional<Place> optional_place(const Place& place) {
  return place;
}

// The weights of all terms as the kernel reads them.
std::vector<std::byte> pack(std::span<const Tensor* const> terms, const LstmCall& call,
                            const LstmLayout& layout) {
  const std::uint32_t size = element_bytes(call.type);
  std::vector<std::byte> packed(layout.elements(call.width, call.units) * size);
  std::uint32_t begin = 0;
  for (const Tensor* term : terms) {
    const auto wide = static_cast<std::uint32_t>(term->shape[1]);
    const float* from = term->f32();
    for (std::uint32_t row = 0; row < 4 * call.units; ++row) {
      for (std::uint32_t k = 0; k < wide; ++k, ++from) {
        const std::uint64_t to = layout.element(call.width, row % call.units, row / call.units, begin + k);
        write_operand(packed.data() + to * size, call.type, *from);
      }
    }
    begin += wide;
  }
  return packed;
}

// The operands and the packed weights; false: one of them is not there in the layout's type.
Result<bool> add_terms(LstmCall& call, const Operator& product, PlanLeaves& leaves,
                       const LstmLayout& layout) {
  const Cell& cell = leaves.cell();
  std::vector<const Tensor*> tensors;
  for (ValueId term : product_terms(product)) {
    const std::uint32_t wide = width_of(cell, term);
    auto tensor = leaves.weight(product.weights[call.term_count], {width_of(cell, product.output), wide});
    if (!tensor) return tl::unexpected(tensor.error());
    const Operator& leaf = *cell.producer(term);
    auto place = layout.narrow ? leaves.narrow_leaf(leaf) : leaves.leaf(leaf, 0).map(optional_place);
    if (!place) return tl::unexpected(place.error());
    if (!*place) return false;
    tensors.push_back(*tensor);
    call.widths[call.term_count] = wide;
    call.terms[call.term_count++] = **place;
    call.width += wide;
  }
  auto packed = leaves.keep(pack(tensors, call, layout));
  if (!packed) return tl::unexpected(packed.error());
  call.weights = *packed;
  return true;
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

// As the tensor cores see an operand.
float rounded(float x, ElementType type) {
  if (type == ElementType::kBf16) return from_bfloat16(to_bfloat16(x));
  return type == ElementType::kF16 ? from_float16(to_float16(x)) : to_tf32(x);
}

void unit_on_host(const LstmCall& call, const LstmLayout& layout, const TaskHeader& task, std::uint32_t row,
                  std::uint32_t unit) {
  float sums[4] = {0, 0, 0, 0};
  const std::uint32_t size = element_bytes(call.type);
  for (std::uint32_t k = 0; k < call.width; ++k) {
    const float x = rounded(lstm_operand(call, task, row, k), call.type);
    for (std::uint32_t gate = 0; gate < 4; ++gate) {
      const float weight =
          float_of(load_bits(call.weights + layout.element(call.width, unit, gate, k) * size, call.type));
      sums[gate] = std::fma(x, rounded(weight, call.type), sums[gate]);
    }
  }
  lstm_update(call, task, row, unit, sums);
}

std::uint64_t packed_element(std::uint32_t width, std::uint32_t unit, std::uint32_t gate, std::uint32_t k) {
  const std::uint64_t row = std::uint64_t{unit / kLstmUnits} * width + k;
  return row * kLstmColumns + gate * kLstmUnits + unit % kLstmUnits;
}

std::uint64_t packed_elements(std::uint32_t width, std::uint32_t units) {
  return std::uint64_t{(units + kLstmUnits - 1) / kLstmUnits} * width * kLstmColumns;
}

Result<std::shared_ptr<const FusedStep>> plan_for_all(PlanLeaves& leaves) {
  return plan_lstm(leaves, kLstmLayout);
}

}  // namespace

const LstmLayout kLstmLayout = {kLstmDepth, kLstmDepth, false, false, packed_element, packed_elements};

extern const FusedKernel kLstmFused;
const FusedKernel kLstmFused = {"lstm", plan_for_all};

Result<std::shared_ptr<const FusedStep>> plan_lstm(PlanLeaves& leaves, const LstmLayout& layout) {
  const auto pattern = match_lstm(leaves.cell());
  const Precision precision = leaves.options().precision;
  if (!pattern || precision == Precision::kFloat32 || !fits(leaves.cell(), *pattern, layout)) return nullptr;
  LstmCall call;
  call.units = width_of(leaves.cell(), pattern->product->output) / 4;
  call.type = operand_type(precision);
  call.tf32 = precision == Precision::kTf32 ? 1 : 0;
  call.multiprocessors = leaves.options().multiprocessors;
  call.reproducible = leaves.options().reproducible ? 1 : 0;
  const auto there = add_terms(call, *pattern->product, leaves, layout);
  if (!there) return tl::unexpected(there.error());
  if (!*there) return nullptr;
  if (Status ok = add_places(call, *pattern, leaves); !ok) return tl::unexpected(ok.error());
  return std::make_shared<const LstmStep>(call, layout);
}

std::string LstmStep::shape() const {
  return std::to_string(call_.units) + " units of " + std::to_string(call_.width) + " in " +
         std::to_string(call_.term_count);
}

std::vector<Place> LstmStep::sources() const {
  if (!layout_.sources) return {};
  Place places[kMaxSources];
  return {places, places + lstm_sources(call_, places)};
}

LstmCall LstmStep::call(const FusedTask& task) const {
  LstmCall call = call_;
  call.task = task;
  return call;
}

void LstmStep::run_on_host(const FusedTask& task) const {
  const LstmCall made = call(task);
  const bool direct = task.turn != 0;
  if (task.chained != 0) {
    wait_for_word(&at<QueueState>(task.queue.state)->resolved, task.turn);
    wait_for_step_before(task.queue, task.turn);
  }
  if (direct) begin_task(task.queue, task.turn);
  const TaskHeader none{};  // of a direct task there is no other
  const TaskHeader& header = direct ? none : current_task(task.queue);
  for (std::uint32_t row = 0; row < task.rows; ++row) {
    for (std::uint32_t unit = 0; unit < made.units; ++unit) unit_on_host(made, layout_, header, row, unit);
  }
  const Ending ending = ending_of(task.queue, task.seq);
  if (!direct) return finish_task(task.queue, ending);
  add_to(&at<QueueState>(task.queue.state)->written, kWhole);
  finish_direct(task.queue, ending, task.turn, task.chained != 0);
}

}  // namespace volvox::gpu
