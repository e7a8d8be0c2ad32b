#include <algorithm>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Embed {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = row.width(op.output);
    const auto id = row.template integer<std::int32_t>(op.inputs[0]);
    Real* out = row.real(op.output);
    if (id < 0 || id >= row.weight_rows()) {
      std::fill_n(out, n, Real{0});
    } else {
      const float* from = row.weights()[0] + static_cast<std::size_t>(id) * n;
      std::copy(from, from + n, out);
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kI32, false); !status) return status;
  if (!at.in(0).shape.empty())
    return at.error("its id has the shape " + to_string(at.in(0).shape) + ", needs []");
  std::int64_t width = 0;
  if (Status status = at.declared_width(0, 1, width); !status) return status;
  const Tensor* table = at.tensor(0);
  const std::int64_t rows = table != nullptr && !table->shape.empty() ? table->shape[0] : 1;
  if (rows < 1) return at.error("its table is empty");
  if (Status status = at.weight(0, {rows, width}); !status) return status;
  return at.produce({DType::kF32, {width}, false});
}

}  // namespace

constinit const OpDef kEmbedOp =
    computed_op<Embed>("embed", 1, 1, infer, "(id i32) -> a row of a weight; zeros if there is none");

}  // namespace volvox
