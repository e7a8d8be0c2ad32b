#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// A table that takes the place of a product of rows of embeddings: row `id` is the sum that the product has
// when all of its operands are the rows `id` of their tables. Pointers go into the weights that it was made
// of.
struct FoldedTable {
  struct Term {
    const float* rows = nullptr;    // [ids][operand]
    const float* weight = nullptr;  // [width][operand]
    std::int64_t operand = 0;
  };
  std::string name{};               // of the tensor [ids, width] that it becomes
  std::int64_t ids = 0, width = 0;  // of the table
  std::vector<Term> terms{};        // in the order of the product
  const float* bias = nullptr;      // [width]; null: zeros

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(ids * width) * sizeof(float); }
};

// Computes all rows of a table into [ids][width] floats, 64-byte aligned: each element is one chain of fused
// multiply-adds from the bias, terms in order, ascending k, as it is in a task. A GPU computes them with its
// own products, as near to those of its tasks as these are to each other.
using FoldRows = std::function<Status(const FoldedTable& table, float* out)>;
// Element by element, on the calling thread: for tests, and where nobody brings kernels.
Status fold_rows(const FoldedTable& table, float* out);

struct FoldedCell {
  Cell cell;  // infer it with the tables among the weights
  std::vector<FoldedTable> tables;
};

// Half of the arithmetic of a cell that reads tokens is a product of a row of an embedding with a constant
// matrix. There are only as many such products as the table has rows, so they can all be computed at load:
// the leading terms of each product that are rows of embeddings by one id, with the bias from which the chain
// starts, become one row of a table, and the chain goes on from there, so that no bit changes (on a CPU).
// Tables are made in the order of the cell's products while all of them together have at most `most_bytes`;
// other products stay as they are. An inferred cell, with the weights that it names.
FoldedCell fold_cell(const Cell& cell, const Weights& weights, std::uint64_t most_bytes);

}  // namespace volvox
