#include "cpu/cells/generic_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "cells/ir/check_hash.h"
#include "cells/ir/evaluate.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"
#include "cpu/cells/convolver.h"
#include "cpu/cells/pointwise.h"
#include "cpu/cells/row_product.h"
#include "cpu/cells/workspace.h"
#include "device/host_memory.h"

namespace volvox::cpu {
namespace {

const float* f32(const std::byte* p) {
  return reinterpret_cast<const float*>(p);
}

// Rows that read the same predecessors, and are computed together.
constexpr std::size_t kRowsTogether = 4;

// Dot products of each predecessor's row with the row itself, of the same shape.
bool is_of_predecessors(const Cell& cell, const Operator& op) {
  const Value &a = cell.values[op.inputs[0]], &b = cell.values[op.inputs[1]];
  return a.shape == b.shape && a.ragged != b.ragged;
}

static_assert(kDotParts == RealMath<float>::kDotParts);

// What definitions compute with on this path: the same bits as on any other.
RealMath<float> math_of(const Kernels& kernels) {
  return {&StdMath<float>::fma, kernels.chain,   kernels.chain, kernels.dots, kernels.exp,
          kernels.log,          kernels.sigmoid, kernels.tanh,  kernels.erf};
}

}  // namespace

GenericChunk::GenericChunk(const Kernels& kernels, std::span<const GenericValue> values, const float* zeros,
                           const ResolvedRows& rows, std::size_t begin, std::size_t end,
                           GenericScratch& scratch)
    : kernels_(kernels),
      values_(values),
      zeros_(zeros),
      task_(rows),
      begin_(begin),
      rows_(end - begin),
      scratch_(scratch) {
  if (rows.ragged_begin.empty()) return;
  first_edge_ = rows.ragged_begin[begin];
  edges_ = rows.ragged_begin[end] - first_edge_;
}

bool GenericChunk::is_interpreted(const GenericOp& op) {
  return op.run == &GenericChunk::interpret;
}

bool GenericChunk::is_one_row(const Cell& cell, const Operator& op) {
  return op.is(kEmbedOp) && cell.values[op.output].shape.size() == 1;
}

GenericOp::Run GenericChunk::run_of(const Cell& cell, const Operator& op) {
  struct Lowering {
    const OpDef* op;
    GenericOp::Run run;
  };
  static constexpr Lowering kLowerings[] = {
      {&kGatherOp, &GenericChunk::gather},     {&kGatherAllOp, &GenericChunk::gather_all},
      {&kPullOp, &GenericChunk::pull},         {&kScatterOp, &GenericChunk::scatter},
      {&kPushOp, &GenericChunk::push},         {&kProductOp, &GenericChunk::product},
      {&kLinearOp, &GenericChunk::product},    {&kConvolutionOp, &GenericChunk::convolution},
      {&kSliceOp, &GenericChunk::slice},       {&kConcatOp, &GenericChunk::concat},
      {&kConstantOp, &GenericChunk::constant}, {&kReshapeOp, &GenericChunk::reshape},
      {&kArgmaxOp, &GenericChunk::argmax},     {&kHashOp, &GenericChunk::hash},
      {&kHashAllOp, &GenericChunk::hash_all}};
  if (is_one_row(cell, op)) return &GenericChunk::embed;
  if (op.is(kDotOp) && is_of_predecessors(cell, op)) return &GenericChunk::dot;
  if (op.is(kSegmentSumOp))  // of two inputs where GenericCell has taken the product before it in: WeighedSum
    return op.inputs.size() == 1 ? &GenericChunk::segment_sum : &GenericChunk::weighed_sum;
  for (const Lowering& lowering : kLowerings) {
    if (op.is(*lowering.op)) return lowering.run;
  }
  return is_elementwise(cell, op) ? &GenericChunk::elementwise : &GenericChunk::interpret;
}

bool GenericChunk::is_of_single_rows(const GenericOp& op, std::span<const GenericValue> values) {
  const bool may = op.run == &GenericChunk::elementwise || op.run == &GenericChunk::slice ||
                   op.run == &GenericChunk::reshape || op.run == &GenericChunk::constant;
  return may && !values[op.op.output].ragged;
}

void GenericChunk::run(std::span<const GenericOp> ops) {
  for (std::size_t at = 0; at < ops.size(); at += ops[at].together) {
    const GenericOp& op = ops[at];
    op.together == 1 ? run(op) : run_by_rows(ops.subspan(at, op.together));
  }
}

void GenericChunk::begin_stage(std::span<const GenericOp> views, std::span<const ValueId> inputs) {
  for (const ValueId value : inputs) {
    for (std::size_t r = 0; r < rows_; ++r)
      scratch_.rows[value][r] = scratch_.memory[value] + r * values_[value].stride;
  }
  for (const GenericOp& view : views) run(view);
}

const float* const* GenericChunk::operand(const Operator& op, std::size_t i, std::size_t place) {
  const ValueId value = op.inputs[i];
  const Rows& rows = scratch_.rows[value];
  if (values_[value].ragged == values_[op.output].ragged) return rows.data();
  Rows& spread = scratch_.spread[place];
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::size_t from = edge_of(r);
    const std::size_t to = edge_of(r + 1);
    for (std::size_t e = from; e < to; ++e) spread[e] = rows[r];
  }
  return spread.data();
}

const float* const* GenericChunk::stretched(const GenericOp& op, std::size_t i, std::size_t width) {
  const Rows& rows = scratch_.rows[op.op.inputs[i]];
  Rows& spread = scratch_.spread[i];
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t s = 0; s < op.stretches; ++s) spread[r * op.stretches + s] = rows[r] + s * width;
  }
  return spread.data();
}

void GenericChunk::point_at_results(const Operator& op) {
  for (std::size_t r = 0; r < count(op.output); ++r) scratch_.rows[op.output][r] = result(op, r);
}

void GenericChunk::gather(const GenericOp& op) {
  const std::uint32_t* slots = task_.gathers[op.op.index].data() + begin_;
  for (std::size_t r = 0; r < rows_; ++r) scratch_.rows[op.op.output][r] = f32(op.plane.row(slots[r]));
}

void GenericChunk::gather_all(const GenericOp& op) {
  const std::uint32_t* slots = task_.ragged_slots.data() + first_edge_;
  for (std::size_t e = 0; e < edges_; ++e) scratch_.rows[op.op.output][e] = f32(op.plane.row(slots[e]));
}

void GenericChunk::pull(const GenericOp& made) {
  const Operator& op = made.op;
  const DeviceAddress* addresses = task_.pulls[op.index].data() + begin_;
  for (std::size_t r = 0; r < rows_; ++r) {
    scratch_.rows[op.output][r] = addresses[r] == 0 ? zeros_ : f32(at_address(addresses[r]));
  }
}

void GenericChunk::scatter(const GenericOp& op) {
  const ValueId value = op.op.inputs[0];
  const std::size_t bytes = values_[value].row_bytes;
  const auto& rows = scratch_.rows[value];
  for (std::size_t r = 0; r < rows_; ++r) std::memcpy(op.plane.row(task_.out[begin_ + r]), rows[r], bytes);
}

void GenericChunk::push(const GenericOp& made) {
  const Operator& op = made.op;
  const ValueId value = op.inputs[0];
  for (const ResolvedRows::Push& result : task_.pushes[op.index]) {
    const std::size_t row = result.row - begin_;  // huge when before the chunk
    if (row >= rows_) continue;
    std::memcpy(at_address(result.address), scratch_.rows[value][row], values_[value].row_bytes);
  }
}

void GenericChunk::embed(const GenericOp& op) {
  const auto& ids = scratch_.rows[op.op.inputs[0]];
  for (std::size_t r = 0; r < count(op.op.output); ++r) {
    std::int32_t id = 0;
    std::memcpy(&id, ids[r], sizeof id);
    scratch_.rows[op.op.output][r] = f32(op.table->row(id));
  }
}

ProductCall GenericChunk::call(const GenericOp& op, std::array<ProductTerm, kMaxTerms>& terms) {
  point_at_results(op.op);
  ProductCall call;
  call.product = op.product.get();
  call.kernel = kernels_.product;
  const std::size_t stretches = op.stretches, columns = values_[op.op.output].elements / stretches;
  call.rows = count(op.op.output) * stretches;
  for (std::size_t r = 0; r < call.rows; ++r)
    scratch_.out[r] = result(op.op, r / stretches) + r % stretches * columns;
  for (std::size_t t = 0; t < op.terms.size(); ++t) {
    const std::size_t width = values_[op.terms[t]].elements / stretches;
    terms[t] = {stretches == 1 ? operand(op.op, t) : stretched(op, t, width), width};
  }
  call.terms = terms.data();
  call.term_count = op.terms.size();
  call.start = op.starts ? operand(op.op, op.terms.size()) : nullptr;
  call.out[0] = scratch_.out.data();
  return call;
}

void GenericChunk::product(const GenericOp& op) {
  std::array<ProductTerm, kMaxTerms> terms;
  const ProductCall made = call(op, terms);
  multiply_rows(kernels_, *made.product, {made.terms, made.term_count}, made.start, scratch_.out.data(),
                made.rows, scratch_.parked.f32());
}

void GenericChunk::convolution(const GenericOp& op) {
  point_at_results(op.op);
  Convolver(kernels_, op.op.convolution, *op.convolution, op.turned, scratch_.convolution,
            scratch_.parked.f32())
      .run(operand(op.op, 0), rows_, scratch_.memory[op.op.output], values_[op.op.output].stride);
}

void GenericChunk::constant(const GenericOp& made) {
  std::fill_n(scratch_.rows[made.op.output].data(), rows_, made.constant->f32());
}

void GenericChunk::reshape(const GenericOp& made) {
  const Operator& op = made.op;
  std::copy_n(scratch_.rows[op.inputs[0]].data(), count(op.output), scratch_.rows[op.output].data());
}

void GenericChunk::slice(const GenericOp& made) {
  const Operator& op = made.op;
  const std::size_t skip = static_cast<std::size_t>(op.begin) / values_[op.output].layout.positions;
  const float* const* from = operand(op, 0);
  for (std::size_t r = 0; r < count(op.output); ++r) scratch_.rows[op.output][r] = from[r] + skip;
}

void GenericChunk::concat(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  std::size_t at = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const float* const* from = operand(op, i, 0);
    const GenericValue& value = values_[op.inputs[i]];
    for (std::size_t r = 0; r < count(op.output); ++r)
      std::memcpy(result(op, r) + at, from[r], value.row_bytes);
    at += value.elements;
  }
}

void GenericChunk::elementwise(const GenericOp& made) {
  run_by_rows({&made, 1});
}

// Views point at rows before anything lies there.
void GenericChunk::run_by_rows(std::span<const GenericOp> ops) {
  scratch_.steps.clear();
  for (const GenericOp& made : ops) {
    made.run == &GenericChunk::elementwise ? scratch_.steps.push_back(step(made)) : run(made);
  }
  const std::size_t rows = count(ops.back().op.output);
  for (std::size_t r = 0; r < rows; ++r) {
    for (const PointwiseStep& step : scratch_.steps) step.run(r);
  }
}

PointwiseStep GenericChunk::step(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const GenericValue& out = values_[op.output];
  PointwiseStep step{
      .kernel = made.pointwise, .out = scratch_.memory[op.output], .stride = out.stride, .n = out.elements};
  const std::size_t positions = out.layout.positions;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    step.x[i] = operand(op, i);
    step.pitch[i] = values_[op.inputs[i]].layout.pitch;
    // Parts of turned values lie in stretches.
    if (positions > 1 && step.pitch[i] != out.elements / positions) step.stretches = positions;
  }
  step.n /= step.stretches;
  return step;
}

void GenericChunk::segment_sum(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const auto& edges = scratch_.rows[op.inputs[0]];
  for (std::size_t r = 0; r < rows_; ++r) {
    float* out = result(op, r);
    std::memset(out, 0, values_[op.output].row_bytes);
    const std::size_t from = edge_of(r);
    const std::size_t to = edge_of(r + 1);
    for (std::size_t e = from; e < to; ++e) {
      kernels_.add(out, edges[e], out, values_[op.output].elements);
    }
  }
}

void GenericChunk::weighed_sum(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const Rows& scales = scratch_.rows[op.inputs[0]];
  const Rows& x = scratch_.rows[op.inputs[1]];
  const std::size_t stretches = values_[op.inputs[0]].elements, n = values_[op.output].elements / stretches;
  for (std::size_t first = 0, next = 0; first < rows_; first = next) {
    next = first + alike(first, kRowsTogether);
    for (std::size_t s = 0; s < stretches; ++s) {
      for (std::size_t r = first; r < next; ++r) {
        const std::size_t from = edge_of(r);
        kernels_.weighed_sum(scales.data() + from, s, x.data() + from, s * n, edges_of(r), n,
                             result(op, r) + s * n);
      }
    }
  }
}

// Of each predecessor and the row itself. Rows of one request read the same predecessors: once for several.
void GenericChunk::dot(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const bool ragged_first = values_[op.inputs[0]].ragged;
  const Rows& all = scratch_.rows[op.inputs[ragged_first ? 0 : 1]];
  const Rows& own = scratch_.rows[op.inputs[ragged_first ? 1 : 0]];
  const std::size_t stretches = values_[op.output].elements, n = values_[op.inputs[0]].elements / stretches;
  constexpr std::size_t kEdgesTogether = 2, kMost = kEdgesTogether * kRowsTogether;
  std::array<const float*, kMost> a{}, b{};
  std::array<float*, kMost> to{};
  std::array<float, kMost> dots{};
  for (std::size_t first = 0, next = 0; first < rows_; first = next) {
    next = first + alike(first, kRowsTogether);
    const std::size_t edges = edges_of(first);
    for (std::size_t edge = 0; edge < edges; edge += kEdgesTogether) {
      for (std::size_t s = 0; s < stretches; ++s) {
        std::size_t count = 0;
        for (std::size_t e = edge; e < std::min(edge + kEdgesTogether, edges); ++e) {
          for (std::size_t r = first; r < next; ++r) {
            a[count] = all[edge_of(r) + e] + s * n;
            b[count] = own[r] + s * n;
            to[count++] = result(op, edge_of(r) + e) + s;
          }
        }
        kernels_.dots(a.data(), b.data(), count, n, dots.data());
        for (std::size_t i = 0; i < count; ++i) *to[i] = dots[i];
      }
    }
  }
}

std::size_t GenericChunk::alike(std::size_t row, std::size_t most) const {
  const std::uint32_t* slots = task_.ragged_slots.data() + first_edge_;
  std::size_t count = 1;
  const auto same = [&](std::size_t other) {
    return edges_of(other) == edges_of(row) &&
           std::equal(slots + edge_of(row), slots + edge_of(row + 1), slots + edge_of(other));
  };
  while (count < most && row + count < rows_ && same(row + count)) ++count;
  return count;
}

void GenericChunk::argmax(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const float* const* from = operand(op, 0);
  for (std::size_t r = 0; r < count(op.output); ++r) {
    const std::int32_t index = kernels_.argmax(from[r], values_[op.inputs[0]].elements);
    std::memcpy(result(op, r), &index, sizeof index);
  }
}

void GenericChunk::hash(const GenericOp& made) {
  const Operator& op = made.op;
  const float* const* states = operand(op, 0);
  const float* const* tokens = operand(op, 1);
  for (std::size_t r = 0; r < count(op.output); ++r) {
    std::uint64_t state = 0;
    std::int32_t token = 0;
    std::memcpy(&state, states[r], sizeof state);
    std::memcpy(&token, tokens[r], sizeof token);
    const std::uint64_t mixed = check_hash(state, static_cast<std::uint64_t>(token));
    float* to = result(op, r);
    std::memcpy(to, &mixed, sizeof mixed);
    scratch_.rows[op.output][r] = to;
  }
}

void GenericChunk::hash_all(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const auto& edges = scratch_.rows[op.inputs[0]];
  const float* const* tokens = operand(op, 1);
  for (std::size_t r = 0; r < rows_; ++r) {
    std::int32_t token = 0;
    std::memcpy(&token, tokens[r], sizeof token);
    std::uint64_t state = check_hash(0, static_cast<std::uint64_t>(token));
    const std::size_t from = edge_of(r);
    const std::size_t to = edge_of(r + 1);
    for (std::size_t e = from; e < to; ++e) {
      std::uint64_t predecessor = 0;
      std::memcpy(&predecessor, edges[e], sizeof predecessor);
      state = check_hash(state, predecessor);
    }
    std::memcpy(result(op, r), &state, sizeof state);
  }
}

void GenericChunk::interpret(const GenericOp& made) {
  const Operator& op = made.op;
  const RealMath<float> math = math_of(kernels_);
  RowValues<float> values(*made.cell, math, scratch_.places.data(), scratch_.reals);
  values.set_weights(made.weights, made.weight_rows);
  point_at_results(op);
  for (std::size_t r = 0; r < rows_; ++r) {
    std::size_t first_edge = 0;  // of the row's, where its ragged values lie
    if (!task_.ragged_begin.empty()) {
      first_edge = edge_of(r);
      values.set_edges(static_cast<std::uint32_t>(edges_of(r)));
    }
    const auto place = [&](ValueId v) {
      scratch_.places[v] = scratch_.rows[v].data() + (values_[v].ragged ? first_edge : r);
    };
    for (const ValueId input : op.inputs) place(input);
    place(op.output);
    op.def->evaluate_f32(values, op);
  }
}

}  // namespace volvox::cpu
