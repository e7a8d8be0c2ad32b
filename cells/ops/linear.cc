#include <utility>

#include "cells/ops/check_terms.h"
#include "cells/ops/last_axis.h"

namespace volvox {
namespace {

struct Linear {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t out_width = last_extent(row, op.output);
    Real* out = row.real(op.output);
    for (std::size_t s = 0; s < row.width(op.output) / out_width; ++s, out += out_width) {
      for (std::size_t j = 0; j < out_width; ++j) out[j] = sum(row, op, s, j);
    }
  }

 private:
  // Element `j` of stretch `s`.
  template <class Real>
  static Real sum(RowValues<Real>& row, const Operator& op, std::size_t s, std::size_t j) {
    const auto weights = row.weights();
    Real sum = op.has_bias ? static_cast<Real>(weights.back()[j]) : Real{0};
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const std::size_t n = last_extent(row, op.inputs[i]);
      sum = row.math().chain(sum, weights[i] + j * n, row.real(op.inputs[i]) + s * n, n);
    }
    return sum;
  }
};

Shape stretches(const Shape& shape) {
  return {shape.begin(), shape.end() - 1};
}

Status infer(Inference& at) {
  const Operator& op = at.op();
  if (op.inputs.empty() || op.has_start)
    return at.error("needs an input at least, and starts from a bias or zero");
  if (Status status = check_terms(at, op.inputs.size()); !status) return status;
  if (Status status = at.arity(op.inputs.size(), op.inputs.size() + (op.has_bias ? 1 : 0)); !status)
    return status;
  std::int64_t width = 0;
  if (Status status = at.declared_width(0, 0, width); !status) return status;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (Status status = needs_last_axis(at, i); !status) return status;
    if (Status status = at.want(i, DType::kF32, false); !status) return status;
    if (stretches(at.in(i).shape) != stretches(at.in(0).shape)) {
      return at.error("its inputs have the shapes " + to_string(at.in(0).shape) + " and " +
                      to_string(at.in(i).shape) + ": all axes but the last must agree");
    }
    if (Status status = at.weight(i, {width, at.in(i).shape.back()}); !status) return status;
  }
  if (op.has_bias) {
    if (Status status = at.weight(op.inputs.size(), {width}); !status) return status;
  }
  Shape shape = stretches(at.in(0).shape);
  shape.push_back(width);
  return at.produce({DType::kF32, std::move(shape), false});
}

}  // namespace

constinit const OpDef kLinearOp =
    computed_op<Linear>("linear", OpDef::kAny, OpDef::kAny, infer,
                        "(x, …) -> W·x + … for each stretch along the last axis, as product has it for a "
                        "vector; a bias where it has one "
                        "weight more than inputs");

}  // namespace volvox
