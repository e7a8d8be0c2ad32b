#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cells/ir/cell_builder.h"
#include "cells/ir/evaluate.h"

// Every operator that computes, with inputs to draw and what should come of them, for tests of whatever runs
// operators. A test of the table itself fails when an operator has no case.
namespace volvox::testing_cells {

using Numbers = std::vector<double>;

struct OpCase {
  struct Operand {
    Shape shape{};
    bool ragged = false;
    bool integer = false;  // i32: the numbers without their fractions
    bool coarse = false;   // few different numbers, so that many are equal
    float least = -2, most = 2;
  };

  std::string op;
  std::vector<Operand> operands;  // at most kMaxGathers
  std::function<ValueId(CellBuilder&, const std::vector<ValueId>&)> build;
  // What it makes of its operands' rows, computed once more. Of a ragged value: for each predecessor.
  std::function<Numbers(const std::vector<Numbers>&)> want = nullptr;
  // Instead, for one that works across predecessors: of all rows of operand 0. A ragged value's rows one
  // after another.
  std::function<Numbers(const std::vector<Numbers>&)> want_of_list = nullptr;
  std::vector<std::pair<std::string, Shape>> weights{};
};

const std::vector<OpCase>& op_cases();

// The number `k` of weight `name` in the weights of every case.
float case_weight(const std::string& name, std::size_t k);

// Rows of a cell that consists of a case's operator, its operands being states of random predecessors:
// operand i is state "x<i>" of predecessor i, or of every one in the list. A ragged value is multiplied by
// state "k" of each predecessor and summed up.
class OpBatch {
 public:
  static constexpr std::uint32_t kSources = 24;  // nodes that have states
  struct Row {
    std::array<std::uint32_t, kMaxGathers> gathers{};  // sources
    std::vector<std::uint32_t> list;
  };

  OpBatch(const OpCase& op, std::uint32_t rows);

  const Cell& cell() const { return cell_; }
  const Weights& weights() const { return weights_; }
  const std::vector<StateKind>& states() const { return states_; }
  const std::vector<Row>& rows() const { return rows_; }
  // Of one source, kind after kind.
  const std::vector<float>& source(std::uint32_t number) const { return sources_[number]; }
  std::size_t result_elements() const { return static_cast<std::size_t>(elements(result().shape)); }
  const Value& result() const;

  // The results, row after row; f32 ones are Reals.
  template <class Real, class Math>
  std::vector<std::byte> in_evaluator() const;
  std::vector<Numbers> want() const;

 private:
  void build();
  void draw_sources();
  std::size_t offset_of(const std::string& state) const;
  Numbers operand(std::size_t i, std::uint32_t source) const;
  Numbers want_of(const Row& row) const;
  Numbers fold(const Row& row, const Numbers& edges) const;
  bool has_ragged_value() const;

  OpCase op_;
  std::uint32_t seed_;
  Cell cell_;
  Weights weights_;
  std::vector<StateKind> states_;
  std::vector<std::vector<float>> sources_;
  std::vector<Row> rows_;
};

template <class Real, class Math>
std::vector<std::byte> OpBatch::in_evaluator() const {
  const CellProgram program = CellProgram::make(cell_, weights_).value();
  CellEvaluator<Real, Math> evaluator(program);
  std::vector<std::vector<Real>> sources;
  for (const auto& source : sources_) sources.emplace_back(source.begin(), source.end());
  const std::size_t each = result().dtype == DType::kF32 ? sizeof(Real) : sizeof(std::int32_t);
  std::vector<std::byte> results(rows_.size() * result_elements() * each);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    CellRow row;
    std::vector<const void*> gathers, ragged;
    for (const Operator& op : cell_.operators) {
      if (op.is(kGatherOp))
        gathers.push_back(sources[rows_[r].gathers[op.index]].data() + offset_of(op.name));
      if (!op.is(kGatherAllOp)) continue;
      for (const std::uint32_t from : rows_[r].list)
        ragged.push_back(sources[from].data() + offset_of(op.name));
    }
    row.gathers = gathers;
    row.ragged = ragged;
    row.edges = static_cast<std::uint32_t>(rows_[r].list.size());
    row.pushes[0] = results.data() + r * result_elements() * each;
    evaluator.run(row);
  }
  return results;
}

}  // namespace volvox::testing_cells
