#include "cells/cell_program.h"

#include <utility>

#include "cells/infer.h"

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
      if (op.kind == OpKind::kEmbed) step.rows = tensor->shape[0];
    }
    step.number = program.counts_[static_cast<std::size_t>(op.kind)]++;
    program.steps_.push_back(std::move(step));
  }
  return program;
}

}  // namespace volvox
