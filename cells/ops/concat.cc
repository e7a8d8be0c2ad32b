#include <algorithm>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Concat {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (const ValueId v : op.inputs) out = std::copy_n(row.real(v, e), row.width(v), out);
    }
  }
};

Status infer(Inference& at) {
  const std::size_t inputs = at.op().inputs.size();
  if (inputs == 0) return at.error("needs at least one input");
  if (Status status = at.arity(inputs, 0); !status) return status;
  Value value{DType::kF32, {0}, false};
  for (std::size_t i = 0; i < inputs; ++i) {
    if (Status status = at.want_vector(i); !status) return status;
    value.shape[0] += at.in(i).shape[0];
    value.ragged = value.ragged || at.in(i).ragged;
  }
  return at.produce(std::move(value));
}

}  // namespace

constinit const OpDef kConcatOp =
    computed_op<Concat>("concat", OpDef::kAny, OpDef::kAny, infer, "(x, …) -> vectors, one after another");

}  // namespace volvox
