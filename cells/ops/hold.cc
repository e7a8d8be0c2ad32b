#include <algorithm>
#include <limits>
#include <string>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Hold {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Real* x = row.real(op.inputs[0]);
    const Real* held = row.real(op.inputs[1]);
    Real* out = row.real(op.output);
    const auto n = static_cast<std::size_t>(row.shape(op.output).back());
    for (std::size_t i = 0; i < row.width(op.inputs[1]); ++i, x += n, out += n) {
      if (held[i] == Real{0}) {
        std::copy_n(x, n, out);
        continue;
      }
      std::fill_n(out, n, -std::numeric_limits<Real>::infinity());
      out[op.attributes.integers[0]] = Real{0};
    }
  }
};

Status infer(Inference& at) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (Status status = at.want(i, DType::kF32, false); !status) return status;
  }
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  const Shape& x = at.in(0).shape;
  if (x.size() != 2 || at.in(1).shape != Shape{x[0]}) {
    return at.error("its inputs have the shapes " + to_string(x) + " and " + to_string(at.in(1).shape) +
                    ", needs a matrix and a number for each of its rows");
  }
  const std::int64_t index = at.op().attributes.integers[0];
  if (index < 0 || index >= x[1])
    return at.error("there is no element " + std::to_string(index) + " in rows of " + std::to_string(x[1]));
  return at.produce({DType::kF32, x, false});
}

}  // namespace

extern const OpDef kHoldOp;
constinit const OpDef kHoldOp =
    computed_op<Hold>("hold", 2, 0, infer,
                      "(x, held; index) -> the rows of a matrix, but those whose `held` is not 0 are 0 at "
                      "the index and −∞ elsewhere: a beam "
                      "that has ended goes on with its end alone, at no cost");

}  // namespace volvox
