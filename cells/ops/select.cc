#include <cstring>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Select {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    if (row.value(op.output).dtype == DType::kF32) {
      choose<Real, Real>(row, op);
    } else {
      choose<Real, std::int32_t>(row, op);
    }
  }

 private:
  template <class Real, class T>
  static void choose(RowValues<Real>& row, const Operator& op) {
    const Shape& shape = row.shape(op.output);
    std::array<Strides, 3> strides;
    for (std::size_t i = 0; i < 3; ++i) strides[i] = spread_strides(row.shape(op.inputs[i]), shape);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* condition = row.real(op.inputs[0], e);
      std::byte* out = row.integers(op.output, e);
      for (Walk at(shape); !at.done(); at.next(), out += sizeof(T)) {
        const std::size_t chosen = condition[at.offset(strides[0])] != Real{0} ? 1 : 2;
        std::memcpy(out, row.integers(op.inputs[chosen], e) + at.offset(strides[chosen]) * kBytes<T>,
                    sizeof(T));
      }
    }
  }
  template <class T>
  static constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  const DType dtype = at.in(1).dtype == DType::kI32 ? DType::kI32 : DType::kF32;
  for (std::size_t i = 1; i < 3; ++i) {
    if (Status status = at.want(i, dtype, true); !status) return status;
  }
  Value value;
  value.dtype = dtype;
  if (Status status = at.spread(0, 3, value); !status) return status;
  return at.produce(std::move(value));
}

}  // namespace

extern const OpDef kSelectOp;
constinit const OpDef kSelectOp = computed_op<Select>(
    "select", 3, 0, infer,
    "(condition, a, b) -> a where the condition is not 0, else b; a and b are f32 or i32");

}  // namespace volvox
