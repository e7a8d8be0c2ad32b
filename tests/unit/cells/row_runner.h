#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/evaluate.h"

namespace volvox::testing_cells {

// The states of one node, by kind, as bytes.
using NodeState = std::map<std::string, std::vector<std::byte>>;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct NodeResult {
  NodeState states;
  std::map<std::string, std::vector<std::byte>> pushes;
};

// Runs single nodes of a cell, with states kept by name. Missing predecessors read zeros.
template <class Real>
class RowRunner {
 public:
  RowRunner(Cell cell, const Weights& weights)
      : program_(make(std::move(cell), weights)), evaluator_(program_) {}

  NodeResult run(const std::vector<const NodeState*>& predecessors, const std::vector<const void*>& inputs,
                 const std::vector<const NodeState*>& list = {}) {
    NodeResult result;
    std::vector<const void*> gathers, ragged;
    std::vector<void*> scatters;
    std::vector<std::vector<std::byte>> zeros;
    zeros.reserve(program_.cell().operators.size());
    CellRow row;
    for (const Operator& op : program_.cell().operators) {
      if (op.is(kGatherOp)) {
        const NodeState* from = op.index < predecessors.size() ? predecessors[op.index] : nullptr;
        gathers.push_back(from != nullptr ? from->at(op.name).data()
                                          : zeros.emplace_back(bytes(op.output)).data());
      }
      if (op.is(kGatherAllOp)) {
        for (const NodeState* node : list) ragged.push_back(node->at(op.name).data());
      }
      if (op.is(kScatterOp)) {
        scatters.push_back((result.states[op.name] = std::vector<std::byte>(bytes(op.inputs[0]))).data());
      }
      if (op.is(kPushOp)) {
        row.pushes[op.index] = (result.pushes[op.name] = std::vector<std::byte>(bytes(op.inputs[0]))).data();
      }
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) row.pulls[i] = inputs[i];
    row.gathers = gathers;
    row.ragged = ragged;
    row.edges = static_cast<std::uint32_t>(list.size());
    row.scatters = scatters;
    evaluator_.run(row);
    return result;
  }

 private:
  static CellProgram make(Cell cell, const Weights& weights) {
    Result<CellProgram> program = CellProgram::make(std::move(cell), weights);
    EXPECT_TRUE(program) << program.error().message;
    return std::move(*program);
  }
  std::size_t bytes(ValueId v) const {
    const Value& value = program_.cell().values[v];
    const std::size_t each = value.dtype == DType::kF32 ? sizeof(Real) : size_bytes(value.dtype);
    return static_cast<std::size_t>(elements(value.shape)) * each;
  }

  CellProgram program_;
  CellEvaluator<Real> evaluator_;
};

}  // namespace volvox::testing_cells
