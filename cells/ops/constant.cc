#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Constant {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::vector<double>& reals = op.attributes.reals;
    Real* out = row.real(op.output);
    for (std::size_t k = 0; k < row.width(op.output); ++k) {
      out[k] = row.weights().empty() ? static_cast<Real>(reals[reals.size() == 1 ? 0 : k])
                                     : static_cast<Real>(row.weights()[0][k]);
    }
  }
};

Status infer(Inference& at) {
  const Operator& op = at.op();
  const Shape& shape = op.attributes.integers;
  if (Status status = at.arity(0, op.weights.empty() ? 0 : 1); !status) return status;
  if (Status status = at.produce({DType::kF32, shape, false}); !status) return status;
  if (!op.weights.empty()) {
    if (!op.attributes.reals.empty()) return at.error("is a weight or numbers, not both");
    return at.weight(0, shape);
  }
  const std::size_t numbers = op.attributes.reals.size();
  if (numbers == 1 || numbers == static_cast<std::size_t>(elements(shape))) return {};
  return at.error("has " + std::to_string(numbers) + " numbers, needs one, or one for each element of " +
                  to_string(shape));
}

}  // namespace

constinit const OpDef kConstantOp = computed_op<Constant>(
    "constant", OpDef::kAny, OpDef::kAny, infer,
    "(; extents; numbers) -> a weight of this shape, or these numbers; a single one is every element");

}  // namespace volvox
