#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Take {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    if (row.value(op.output).dtype == DType::kF32) {
      copy<Real, Real>(row, op);
    } else {
      copy<Real, std::int32_t>(row, op);
    }
  }

 private:
  template <class Real, class T>
  static void copy(RowValues<Real>& row, const Operator& op) {
    const auto axis = static_cast<std::size_t>(op.attributes.integers[0]);
    const Shape& shape = row.shape(op.inputs[0]);
    const auto inner = static_cast<std::size_t>(strides_of(shape)[axis]) * sizeof(T);
    const std::size_t whole = static_cast<std::size_t>(shape[axis]) * inner;
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const std::byte* x = row.integers(op.inputs[0]);
      std::byte* out = row.integers(op.output, e);
      for (const std::byte* const last = x + row.width(op.inputs[0]) * sizeof(T); x != last; x += whole) {
        for (std::size_t k = 0; k < row.width(op.inputs[1]); ++k, out += inner) {
          const std::int64_t wanted = row.template integer<std::int32_t>(op.inputs[1], e, k);
          const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 0, shape[axis] - 1));
          std::memcpy(out, x + at * inner, inner);
        }
      }
    }
  }
};

Status infer(Inference& at) {
  const DType dtype = at.in(0).dtype == DType::kI32 ? DType::kI32 : DType::kF32;
  if (Status status = at.want(0, dtype, false); !status) return status;
  if (Status status = at.want(1, DType::kI32, true); !status) return status;
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  std::size_t axis = 0;
  if (Status status = at.axis(0, axis); !status) return status;
  Shape shape = at.in(0).shape;
  const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(place, at.in(1).shape.begin(), at.in(1).shape.end());
  return at.produce({dtype, std::move(shape), at.in(1).ragged});
}

}  // namespace

extern const OpDef kTakeOp;
constinit const OpDef kTakeOp = computed_op<Take>("take", 2, 0, infer,
                                                  "(x, i i32; axis) -> the parts of x at these indices along "
                                                  "an axis, in whose place the axes of i are; f32 or i32. An "
                                                  "index outside is the nearest inside");

}  // namespace volvox
