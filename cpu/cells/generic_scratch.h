#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "cpu/cells/convolver.h"
#include "cpu/cells/pointwise.h"
#include "cpu/cells/turned_values.h"

namespace volvox::cpu {

// A value of a generic cell, for each row (or each edge, when ragged).
struct GenericValue {
  std::size_t elements = 0;
  std::size_t row_bytes = 0;
  std::size_t stride = 0;  // floats from row to row in the chunk's memory; 0: it is a view, or passes
  std::size_t place = 0;   // in that memory, in floats of a row: behind so many of others
  // Read as soon as it is computed: a row lies where the one before lay.
  bool passes = false;
  // Read by a stage behind the one that computes it: it lies in memory of the task, not in the chunk's.
  bool crosses = false;
  bool ragged = false;
  ValueLayout layout;

  bool is_scalar() const { return stride == kScalarStride; }
  // Scalars lie side by side, vectors on cache lines of their own.
  static constexpr std::size_t kScalarStride = 2;
};

// What values need for each row, or each edge, in floats. A value may lie where another lay that nobody reads
// any more.
struct ValueRoom {
  std::size_t vectors = 0, scalars = 0;

  std::size_t floats(std::size_t rows) const {
    return place(vectors, rows, false) + place(scalars, rows, true);
  }
  // Where such a place begins among those of its kind.
  static std::size_t place(std::size_t place, std::size_t rows, bool scalar);
};

struct GenericRoom {
  ValueRoom rows, edges;
  std::size_t passing = 0;  // floats, for all rows

  std::size_t floats(std::size_t rows_of_chunk, std::size_t edges_of_chunk) const {
    return passing + rows.floats(rows_of_chunk) + edges.floats(edges_of_chunk);
  }
};

// What one thread needs to interpret a chunk of rows: a pointer for each row of each value, and memory for
// the values that are computed. Kept from task to task; grows to the largest chunk seen.
struct GenericScratch {
  using Rows = std::vector<const float*>;  // to elements of whatever type the value has

  // Makes room for a chunk of `rows` rows with `edges` edges together, of which an operator may multiply
  // `stretches` parts each.
  Status prepare(std::span<const GenericValue> values, const GenericRoom& room, std::size_t rows,
                 std::size_t edges, std::size_t stretches, const ConvolutionRoom& convolutions);
  // Where those values of such a chunk lie for which there is room.
  void point_at_values(std::span<const GenericValue> values, std::span<const ValueId> which,
                       const GenericRoom& room, std::size_t rows, std::size_t edges);
  // Where those that cross do: in memory of a task of `rows_of_task` rows, from row `begin` on.
  void point_at_crossing(std::span<const GenericValue> values, std::span<const ValueId> which,
                         float* crossing, std::size_t rows_of_task, std::size_t begin);

  std::vector<Rows> rows;                   // [value][row or edge]
  std::vector<Rows> spread;                 // by operand: row pointers for each edge, or each stretch
  std::vector<float*> memory;               // [value] begin of its rows
  std::vector<float*> out;                  // rows of the product under way
  std::vector<const float* const*> places;  // [value] of the operator and row that its definition computes
  std::vector<float> reals;                 // room that definitions ask for
  std::vector<PointwiseStep> steps;         // that run row by row
  ConvolutionScratch convolution;           // of the one under way
  AlignedBuffer buffer;
  AlignedBuffer parked;  // accumulators of a product
};

}  // namespace volvox::cpu
