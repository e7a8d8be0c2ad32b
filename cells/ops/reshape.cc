#include <cstring>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Reshape {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const bool real = row.value(op.output).dtype == DType::kF32;
    const std::size_t bytes = real ? row.width(op.output) * sizeof(Real) : row.bytes(op.output);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      std::memcpy(row.integers(op.output, e), row.integers(op.inputs[0], e), bytes);
    }
  }
};

Status infer(Inference& at) {
  const Value& x = at.in(0);
  if (Status status = at.attributes(0, kMaxAxes, 0); !status) return status;
  const Shape& shape = at.op().attributes.integers;
  if (Status status = at.produce({x.dtype, shape, x.ragged}); !status) return status;
  if (elements(shape) == elements(x.shape)) return {};
  return at.error("the shapes " + to_string(x.shape) + " and " + to_string(shape) +
                  " have different numbers of elements");
}

}  // namespace

constinit const OpDef kReshapeOp = computed_op<Reshape>(
    "reshape", 1, 0, infer, "(x; extents) -> the same elements in this shape; of any type");

}  // namespace volvox
