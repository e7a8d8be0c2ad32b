#include "cells/ir/fold.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cells/ir/product_terms.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

class Folder {
 public:
  Folder(const Cell& cell, const Weights& weights, std::uint64_t most_bytes)
      : cell_(cell), weights_(weights), left_bytes_(most_bytes) {}

  FoldedCell run() {
    for (std::size_t i = 0; i < cell_.operators.size(); ++i) {
      const Operator op = cell_.operators[i];
      const std::size_t leading = op.is(kProductOp) && !op.has_start ? leading_rows(op) : 0;
      if (leading == 0) continue;
      FoldedTable table = table_of(op, leading);
      if (table.bytes() > left_bytes_) continue;
      left_bytes_ -= table.bytes();
      i = replace(i, leading, table.name);
      tables_.push_back(std::move(table));
    }
    if (!tables_.empty()) drop_unused();
    return {std::move(cell_), std::move(tables_)};
  }

 private:
  // The id whose row the value is; kNoValue: it is no row, or one of an id that nobody has checked. Ids that
  // requests bring are in their table; what a cell computes may be outside, where a row is zeros and a sum is
  // not.
  ValueId id_of(ValueId value) const {
    const Operator* embed = cell_.producer(value);
    if (embed == nullptr || !embed->is(kEmbedOp)) return kNoValue;
    const Operator* id = cell_.producer(cell_.unshaped(embed->inputs[0]));
    return id != nullptr && id->is(kPullOp) ? embed->inputs[0] : kNoValue;
  }

  // How many terms, from the first, are rows of the same id.
  std::size_t leading_rows(const Operator& product) const {
    const ValueId id = id_of(product.inputs[0]);
    std::size_t leading = 0;
    while (id != kNoValue && leading < product_term_count(product) && id_of(product.inputs[leading]) == id)
      ++leading;
    return leading;
  }

  FoldedTable table_of(const Operator& product, std::size_t leading) const {
    FoldedTable table;
    table.name = cell_.name + ".folded." + std::to_string(tables_.size());
    table.width = elements(cell_.values[product.output].shape);
    for (std::size_t i = 0; i < leading; ++i) {
      const Tensor& rows = *weights_.find(cell_.producer(product.inputs[i])->weights[0]);
      table.ids = i == 0 ? rows.shape[0] : std::min(table.ids, rows.shape[0]);
      table.terms.push_back({rows.f32(), weights_.find(product.weights[i])->f32(), rows.shape[1]});
    }
    if (product.has_bias) table.bias = weights_.find(product.weights.back())->f32();
    return table;
  }

  // Operator `at` becomes a row of the table, or goes on from one. Returns where it is then.
  std::size_t replace(std::size_t at, std::size_t leading, const std::string& table) {
    Operator& product = cell_.operators[at];
    Operator row{.def = &kEmbedOp, .inputs = {id_of(product.inputs[0])}, .weights = {table}};
    if (leading == product_term_count(product)) {
      row.output = product.output;
      product = std::move(row);
      return at;
    }
    row.output = static_cast<ValueId>(cell_.values.size());
    cell_.values.push_back(cell_.values[product.output]);
    const auto count = static_cast<std::ptrdiff_t>(leading);
    product.inputs.erase(product.inputs.begin(), product.inputs.begin() + count);
    product.weights.erase(product.weights.begin(), product.weights.begin() + count);
    if (std::exchange(product.has_bias, false)) product.weights.pop_back();
    product.inputs.push_back(row.output);
    product.has_start = true;
    cell_.operators.insert(cell_.operators.begin() + static_cast<std::ptrdiff_t>(at), std::move(row));
    return at + 1;
  }

  // Rows that nothing reads any more; values are numbered anew.
  void drop_unused() {
    std::vector<bool> read(cell_.values.size(), false);
    for (const Operator& op : cell_.operators) {
      for (const ValueId input : op.inputs) read[input] = true;
    }
    std::erase_if(cell_.operators, [&](const Operator& op) { return op.is(kEmbedOp) && !read[op.output]; });
    std::vector<ValueId> renamed(cell_.values.size(), kNoValue);
    std::vector<Value> values;
    for (Operator& op : cell_.operators) {
      for (ValueId& input : op.inputs) input = renamed[input];
      if (op.output == kNoValue) continue;
      renamed[op.output] = static_cast<ValueId>(values.size());
      values.push_back(std::move(cell_.values[op.output]));
      op.output = renamed[op.output];
    }
    cell_.values = std::move(values);
  }

  Cell cell_;
  const Weights& weights_;
  std::uint64_t left_bytes_;
  std::vector<FoldedTable> tables_;
};

}  // namespace

Status fold_rows(const FoldedTable& table, float* out) {
  for (std::int64_t id = 0; id < table.ids; ++id) {
    for (std::int64_t j = 0; j < table.width; ++j) {
      float sum = table.bias == nullptr ? 0.0F : table.bias[j];
      for (const FoldedTable::Term& term : table.terms) {
        const float* x = term.rows + id * term.operand;
        const float* w = term.weight + j * term.operand;
        for (std::int64_t k = 0; k < term.operand; ++k) sum = std::fma(w[k], x[k], sum);
      }
      *out++ = sum;
    }
  }
  return {};
}

FoldedCell fold_cell(const Cell& cell, const Weights& weights, std::uint64_t most_bytes) {
  return Folder(cell, weights, most_bytes).run();
}

}  // namespace volvox
