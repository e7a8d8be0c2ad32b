#include <algorithm>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

// Of the last two axes.
struct Extents {
  std::size_t rows, columns;
};

Extents extents(const Shape& shape) {
  return {static_cast<std::size_t>(shape.end()[-2]), static_cast<std::size_t>(shape.end()[-1])};
}

Shape leading(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

struct Matmul {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const ValueId left = op.inputs[0], right = op.inputs[1];
    const Shape& shape = row.shape(op.output);
    const Strides a = spread_strides(row.shape(left), shape), b = spread_strides(row.shape(right), shape);
    const auto [inner, columns] = extents(row.shape(right));
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (Walk at(shape, shape.size() - 2); !at.done(); at.next()) {
        multiply(row, row.real(left, e) + at.offset(a), row.real(right, e) + at.offset(b), out,
                 extents(shape), inner);
        out += extents(shape).rows * columns;
      }
    }
  }

 private:
  template <class Real>
  static void multiply(RowValues<Real>& row, const Real* a, const Real* b, Real* out, Extents result,
                       std::size_t inner) {
    row.scratch().resize(inner);
    Real* column = row.scratch().data();
    for (std::size_t j = 0; j < result.columns; ++j) {
      for (std::size_t k = 0; k < inner; ++k) column[k] = b[k * result.columns + j];
      for (std::size_t i = 0; i < result.rows; ++i) {
        out[i * result.columns + j] = row.math().dot(Real{0}, a + i * inner, column, inner);
      }
    }
  }
};

Status infer(Inference& at) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (Status status = at.want(i, DType::kF32, true); !status) return status;
    if (at.in(i).shape.size() < 2) {
      return at.error("input " + std::to_string(i) + " has the shape " + to_string(at.in(i).shape) +
                      ", needs two axes or more");
    }
  }
  const Shape &a = at.in(0).shape, &b = at.in(1).shape;
  Shape shape;
  if (a.back() != b.end()[-2] || !spread_shape(leading(a), leading(b), shape)) {
    return at.error("its inputs have the shapes " + to_string(a) + " and " + to_string(b) +
                    ": the columns of the one must be the rows of the other");
  }
  shape.insert(shape.end(), {a.end()[-2], b.back()});
  return at.produce({DType::kF32, std::move(shape), at.in(0).ragged || at.in(1).ragged});
}

}  // namespace

extern const OpDef kMatmulOp;
constinit const OpDef kMatmulOp =
    computed_op<Matmul>("matmul", 2, 0, infer,
                        "(a, b) -> the product of matrices in the last two axes: ONE chain for each element");

}  // namespace volvox
