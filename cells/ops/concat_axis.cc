#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct ConcatAxis {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto axis = static_cast<std::size_t>(op.attributes.integers[0]);
    const Shape& shape = row.shape(op.output);
    std::size_t outer = 1;
    for (std::size_t before = 0; before < axis; ++before) outer *= static_cast<std::size_t>(shape[before]);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (std::size_t at = 0; at < outer; ++at) {
        for (const ValueId part : op.inputs) {
          const std::size_t n = row.width(part) / outer;
          out = std::copy_n(row.real(part, e) + at * n, n, out);
        }
      }
    }
  }
};

Status infer(Inference& at) {
  const std::size_t inputs = at.op().inputs.size();
  if (inputs == 0) return at.error("needs at least one input");
  if (Status status = at.arity(inputs, 0); !status) return status;
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  std::size_t axis = 0;
  if (Status status = at.axis(0, axis); !status) return status;
  Value value{DType::kF32, at.in(0).shape, false};
  value.shape[axis] = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (Status status = at.want(i, DType::kF32, true); !status) return status;
    Shape others = at.in(i).shape;
    const std::int64_t extent = axis < others.size() ? std::exchange(others[axis], value.shape[axis]) : 0;
    if (others != value.shape) {
      return at.error("its inputs have the shapes " + to_string(at.in(0).shape) + " and " +
                      to_string(at.in(i).shape));
    }
    value.shape[axis] += extent;
    value.ragged = value.ragged || at.in(i).ragged;
  }
  return at.produce(std::move(value));
}

}  // namespace

extern const OpDef kConcatAxisOp;
constinit const OpDef kConcatAxisOp = computed_op<ConcatAxis>(
    "concat_axis", OpDef::kAny, OpDef::kAny, infer, "(x, …; axis) -> one after another along an axis");

}  // namespace volvox
