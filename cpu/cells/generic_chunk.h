#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cells/patterns/matcher.h"
#include "cpu/cells/generic_cell.h"
#include "cpu/cells/generic_scratch.h"
#include "cpu/product_runner.h"
#include "device/row_table.h"

namespace volvox::cpu {

// Interprets the operators of a generic cell for the rows [begin, end) of a task, on one thread.
class GenericChunk {
 public:
  GenericChunk(const Kernels& kernels, std::span<const GenericValue> values, const float* zeros,
               const ResolvedRows& rows, std::size_t begin, std::size_t end, GenericScratch& scratch);

  void run(std::span<const GenericOp> ops);
  // Of a stage that others went before: has its operators read what these have left.
  void begin_stage(std::span<const GenericOp> views, std::span<const ValueId> inputs);
  // A product of single rows, as the team can compute it: its operands are in `terms`, its results where the
  // chunk keeps them.
  ProductCall call(const GenericOp& op, std::array<ProductTerm, kMaxTerms>& terms);

  // How this backend runs the operator: with kernels of its own, or as its definition says, row by row.
  static GenericOp::Run run_of(const Cell& cell, const Operator& op);
  static bool is_interpreted(const GenericOp& op);  // the latter
  // Whether it can run for a row as soon as those before it have run for this row: see GenericOp::together.
  static bool is_of_single_rows(const GenericOp& op, std::span<const GenericValue> values);
  static bool is_one_row(const Cell& cell, const Operator& op);  // an embedding of a single id

 private:
  using Rows = GenericScratch::Rows;

  void run(const GenericOp& op) { (this->*op.run)(op); }
  void run_by_rows(std::span<const GenericOp> ops);
  PointwiseStep step(const GenericOp& made);

  // How many rows (or edges) of `value` the chunk has.
  std::size_t count(ValueId value) const { return values_[value].ragged ? edges_ : rows_; }
  // Of its edges, where those of a row begin, and how many it has.
  std::size_t edge_of(std::size_t row) const { return task_.ragged_begin[begin_ + row] - first_edge_; }
  std::size_t edges_of(std::size_t row) const { return edge_of(row + 1) - edge_of(row); }
  // How many rows, from this one on and at most so many, have the same predecessors: those of one request.
  std::size_t alike(std::size_t row, std::size_t most) const;
  // Pointers to the rows of input `i`: for a ragged result, one for each edge, kept in spread[place].
  const float* const* operand(const Operator& op, std::size_t i, std::size_t place);
  const float* const* operand(const Operator& op, std::size_t i) { return operand(op, i, i); }
  // Pointers to the stretches of its rows, kept in spread[i].
  const float* const* stretched(const GenericOp& op, std::size_t i, std::size_t width);
  float* result(const Operator& op, std::size_t row) {
    return scratch_.memory[op.output] + row * values_[op.output].stride;
  }
  void point_at_results(const Operator& op);

  void gather(const GenericOp& op);
  void gather_all(const GenericOp& op);
  void pull(const GenericOp& made);
  void scatter(const GenericOp& op);
  void push(const GenericOp& made);
  void embed(const GenericOp& op);
  void product(const GenericOp& op);
  void convolution(const GenericOp& op);
  void slice(const GenericOp& made);
  void concat(const GenericOp& made);
  void constant(const GenericOp& made);
  void reshape(const GenericOp& made);
  void elementwise(const GenericOp& made);
  void segment_sum(const GenericOp& made);
  void weighed_sum(const GenericOp& made);
  void dot(const GenericOp& made);
  void argmax(const GenericOp& made);
  void hash(const GenericOp& made);
  void hash_all(const GenericOp& made);
  void interpret(const GenericOp& made);

  const Kernels& kernels_;
  std::span<const GenericValue> values_;
  const float* zeros_;
  const ResolvedRows& task_;
  std::size_t begin_, rows_, first_edge_ = 0, edges_ = 0;
  GenericScratch& scratch_;
};

}  // namespace volvox::cpu
