#include "cells/ir/cell_program.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cells/ir/infer.h"

namespace volvox {

Result<CellProgram> CellProgram::make(Cell cell, const Weights& weights, std::string_view model) {
  CellProgram program;
  program.cell_ = std::move(cell);
  if (Status status = infer(program.cell_, &weights, model); !status) return tl::unexpected(status.error());
  for (const Operator& op : program.cell_.operators) {
    Step step;
    for (const std::string& name : op.weights) {
      const Tensor* tensor = weights.find(name);
      step.weights.push_back(tensor->f32());
      if (step.rows == 0 && !tensor->shape.empty()) step.rows = tensor->shape[0];
    }
    const auto before = std::span(program.cell_.operators).first(program.steps_.size());
    step.number = static_cast<std::uint32_t>(std::count_if(
        before.begin(), before.end(), [&](const Operator& other) { return other.is(*op.def); }));
    program.steps_.push_back(std::move(step));
  }
  return program;
}

std::uint32_t CellProgram::count(const OpDef& kind) const {
  return static_cast<std::uint32_t>(std::count_if(cell_.operators.begin(), cell_.operators.end(),
                                                  [&](const Operator& op) { return op.is(kind); }));
}

}  // namespace volvox
