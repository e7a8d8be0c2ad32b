#include "cells/ops/define.h"

namespace volvox {
namespace {

struct ToF32 {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (std::size_t k = 0; k < row.width(op.output); ++k) {
        out[k] = static_cast<Real>(row.template integer<std::int32_t>(op.inputs[0], e, k));
      }
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kI32, true); !status) return status;
  return at.produce({DType::kF32, at.in(0).shape, at.in(0).ragged});
}

}  // namespace

extern const OpDef kToF32Op;
constinit const OpDef kToF32Op = computed_op<ToF32>("to_f32", 1, 0, infer, "(x i32) -> the nearest f32");

}  // namespace volvox
