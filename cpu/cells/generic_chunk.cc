#include "cpu/cells/generic_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cells/ir/evaluate.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"
#include "cpu/cells/workspace.h"
#include "device/host_memory.h"

namespace volvox::cpu {
namespace {

const float* f32(const std::byte* p) {
  return reinterpret_cast<const float*>(p);
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

GenericOp::Run GenericChunk::run_of(const Operator& op) {
  struct Lowering {
    const OpDef* op;
    GenericOp::Run run;
  };
  static constexpr Lowering kLowerings[] = {
      {&kGatherOp, &GenericChunk::gather},      {&kGatherAllOp, &GenericChunk::gather_all},
      {&kPullOp, &GenericChunk::pull},          {&kScatterOp, &GenericChunk::scatter},
      {&kPushOp, &GenericChunk::push},          {&kEmbedOp, &GenericChunk::embed},
      {&kProductOp, &GenericChunk::product},    {&kConvolutionOp, &GenericChunk::convolution},
      {&kSliceOp, &GenericChunk::slice},        {&kConcatOp, &GenericChunk::concat},
      {&kAddOp, &GenericChunk::elementwise},    {&kMulOp, &GenericChunk::elementwise},
      {&kMulAddOp, &GenericChunk::elementwise}, {&kSigmoidOp, &GenericChunk::elementwise},
      {&kTanhOp, &GenericChunk::elementwise},   {&kSegmentSumOp, &GenericChunk::segment_sum},
      {&kArgmaxOp, &GenericChunk::argmax},      {&kHashOp, &GenericChunk::hash},
      {&kHashAllOp, &GenericChunk::hash_all}};
  for (const Lowering& lowering : kLowerings) {
    if (op.is(*lowering.op)) return lowering.run;
  }
  return &GenericChunk::interpret;
}

const float* const* GenericChunk::operand(const Operator& op, std::size_t i, std::size_t place) {
  const ValueId value = op.inputs[i];
  const Rows& rows = scratch_.rows[value];
  if (values_[value].ragged == values_[op.output].ragged) return rows.data();
  Rows& spread = scratch_.spread[place];
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::size_t from = task_.ragged_begin[begin_ + r] - first_edge_;
    const std::size_t to = task_.ragged_begin[begin_ + r + 1] - first_edge_;
    for (std::size_t e = from; e < to; ++e) spread[e] = rows[r];
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

void GenericChunk::product(const GenericOp& op) {
  point_at_results(op.op);
  const std::size_t rows = count(op.op.output);
  for (std::size_t r = 0; r < rows; ++r) scratch_.out[r] = result(op.op, r);
  std::array<ProductTerm, kMaxTerms> terms;
  for (std::size_t t = 0; t < op.terms.size(); ++t) {
    terms[t] = {operand(op.op, t), values_[op.terms[t]].elements};
  }
  const float* const* start = op.starts ? operand(op.op, op.terms.size()) : nullptr;
  multiply(*op.product, {terms.data(), op.terms.size()}, start, rows);
}

// The products of `rows` rows, to where scratch_.out points.
void GenericChunk::multiply(const PackedProduct& product, std::span<const ProductTerm> terms,
                            const float* const* start, std::size_t rows) {
  for (std::size_t first = 0; first < rows; first += kMaxBlockRows) {
    for (std::size_t b = 0; b < product.blocks(); ++b) {
      ProductBlock block = product.block(b);
      block.terms = terms.data();
      block.term_count = terms.size();
      block.start = start;
      block.row_begin = first;
      block.row_end = std::min(first + kMaxBlockRows, rows);
      block.scratch = scratch_.parked.f32();
      block.out[0] = scratch_.out.data();
      kernels_.product(block);
    }
  }
}

// Window by window side by side, so that the kernels of a product do the work; what they leave position by
// position is turned around.
void GenericChunk::convolution(const GenericOp& op) {
  const Convolution& c = op.op.convolution;
  point_at_results(op.op);
  const float* const* from = operand(op.op, 0);
  const auto positions = static_cast<std::size_t>(c.positions());
  const auto window = static_cast<std::size_t>(c.window()), kernels = static_cast<std::size_t>(c.kernels);
  const ProductTerm term{scratch_.windows.data(), window};
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t first = 0; first < positions; first += kMaxBlockRows) {
      const std::size_t n = std::min(kMaxBlockRows, positions - first);
      for (std::size_t p = 0; p < n; ++p) {
        float* to = scratch_.window_memory.f32() + p * window;
        copy_window(c, from[r], static_cast<std::int64_t>(first + p), to);
        scratch_.windows[p] = to;
        scratch_.out[p] = scratch_.window_products.f32() + p * kernels;
      }
      multiply(*op.product, {&term, 1}, nullptr, n);
      float* out = result(op.op, r) + first;
      for (std::size_t k = 0; k < kernels; ++k) {
        for (std::size_t p = 0; p < n; ++p) out[k * positions + p] = scratch_.out[p][k];
      }
    }
  }
}

void GenericChunk::slice(const GenericOp& made) {
  const Operator& op = made.op;
  const std::size_t skip = static_cast<std::size_t>(op.begin);
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
  const Operator& op = made.op;
  point_at_results(op);
  std::array<const float* const*, 3> in{};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) in[i] = operand(op, i);
  const std::size_t n = values_[op.output].elements;
  for (std::size_t r = 0; r < count(op.output); ++r) {
    float* out = result(op, r);
    const float* a = in[0][r];
    if (op.is(kSigmoidOp)) kernels_.sigmoid(a, out, n);
    if (op.is(kTanhOp)) kernels_.tanh(a, out, n);
    if (op.is(kAddOp)) kernels_.add(a, in[1][r], out, n);
    if (op.is(kMulOp)) kernels_.mul(a, in[1][r], out, n);
    if (op.is(kMulAddOp)) kernels_.mul_add(a, in[1][r], in[2][r], out, n);
  }
}

void GenericChunk::segment_sum(const GenericOp& made) {
  const Operator& op = made.op;
  point_at_results(op);
  const auto& edges = scratch_.rows[op.inputs[0]];
  for (std::size_t r = 0; r < rows_; ++r) {
    float* out = result(op, r);
    std::memset(out, 0, values_[op.output].row_bytes);
    const std::size_t from = task_.ragged_begin[begin_ + r] - first_edge_;
    const std::size_t to = task_.ragged_begin[begin_ + r + 1] - first_edge_;
    for (std::size_t e = from; e < to; ++e) {
      kernels_.add(out, edges[e], out, values_[op.output].elements);
    }
  }
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
    const std::size_t from = task_.ragged_begin[begin_ + r] - first_edge_;
    const std::size_t to = task_.ragged_begin[begin_ + r + 1] - first_edge_;
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
  RowValues<float> values(*made.cell, kMathOf<float, StdMath<float>>);
  values.set_weights(made.weights, made.weight_rows);
  point_at_results(op);
  for (std::size_t r = 0; r < rows_; ++r) {
    std::size_t first = r, edges = 1;  // of ragged values: where the row's edges lie
    if (!task_.ragged_begin.empty()) {
      first = task_.ragged_begin[begin_ + r] - first_edge_;
      edges = task_.ragged_begin[begin_ + r + 1] - task_.ragged_begin[begin_ + r];
      values.set_edges(static_cast<std::uint32_t>(edges));
    }
    const auto each = [&](ValueId v, auto copy) {
      const bool ragged = values_[v].ragged, real = values.value(v).dtype == DType::kF32;
      for (std::size_t e = 0; e < (ragged ? edges : 1); ++e) {
        void* mine = real ? static_cast<void*>(values.real(v, e)) : static_cast<void*>(values.integers(v, e));
        copy(mine, ragged ? first + e : r, values_[v].row_bytes);
      }
    };
    for (const ValueId input : op.inputs) {
      values.prepare(input);
      each(input, [&](void* mine, std::size_t row, std::size_t bytes) {
        std::memcpy(mine, scratch_.rows[input][row], bytes);
      });
    }
    values.prepare(op.output);
    op.def->evaluate_f32(values, op);
    each(op.output,
         [&](void* mine, std::size_t row, std::size_t bytes) { std::memcpy(result(op, row), mine, bytes); });
  }
}

}  // namespace volvox::cpu
