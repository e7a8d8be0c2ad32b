#include <algorithm>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Embed {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto n = static_cast<std::size_t>(row.shape(op.output).back());
    Real* out = row.real(op.output);
    for (std::size_t k = 0; k < row.width(op.inputs[0]); ++k, out += n) {
      const auto id = row.template integer<std::int32_t>(op.inputs[0], 0, k);
      if (id < 0 || id >= row.weight_rows()) {
        std::fill_n(out, n, Real{0});
      } else {
        const float* from = row.weights()[0] + static_cast<std::size_t>(id) * n;
        std::copy(from, from + n, out);
      }
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kI32, false); !status) return status;
  std::int64_t width = 0;
  if (Status status = at.declared_width(0, 1, width); !status) return status;
  const Tensor* table = at.tensor(0);
  const std::int64_t rows = table != nullptr && !table->shape.empty() ? table->shape[0] : 1;
  if (rows < 1) return at.error("its table is empty");
  if (Status status = at.weight(0, {rows, width}); !status) return status;
  Shape shape = at.in(0).shape;
  shape.push_back(width);
  return at.produce({DType::kF32, std::move(shape), false});
}

}  // namespace

constinit const OpDef kEmbedOp = computed_op<Embed>(
    "embed", 1, 1, infer, "(id i32) -> a row of a weight for each id; zeros if there is none");

}  // namespace volvox
