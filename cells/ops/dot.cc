#include <array>
#include <utility>

#include "cells/ops/last_axis.h"

namespace volvox {
namespace {

struct Dot {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const ValueId left = op.inputs[0], right = op.inputs[1];
    const std::size_t n = last_extent(row, left);
    const Shape& shape = row.shape(op.output);
    const Strides a = spread_strides(row.shape(left), shape), b = spread_strides(row.shape(right), shape);
    constexpr std::size_t kAtOnce = 8;
    std::array<const Real*, kAtOnce> lefts{}, rights{};
    std::array<Real*, kAtOnce> outs{};
    std::array<Real, kAtOnce> made{};
    std::size_t waiting = 0;
    const auto compute = [&] {
      row.math().dots(lefts.data(), rights.data(), waiting, n, made.data());
      for (std::size_t i = 0; i < waiting; ++i) *outs[i] = made[i];
      waiting = 0;
    };
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (Walk at(shape); !at.done(); at.next()) {
        lefts[waiting] = row.real(left, e) + at.offset(a);
        rights[waiting] = row.real(right, e) + at.offset(b);
        outs[waiting++] = out++;
        if (waiting == kAtOnce) compute();
      }
    }
    compute();
  }
};

Status infer(Inference& at) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (Status status = needs_last_axis(at, i); !status) return status;
  }
  if (at.in(0).shape.back() != at.in(1).shape.back()) {
    return at.error("its inputs have the shapes " + to_string(at.in(0).shape) + " and " +
                    to_string(at.in(1).shape) + ", which differ in the last axis");
  }
  Value value;
  if (Status status = at.spread(0, 2, value); !status) return status;
  value.shape.back() = 1;
  return at.produce(std::move(value));
}

}  // namespace

constinit const OpDef kDotOp = computed_op<Dot>(
    "dot", 2, 0, infer,
    "(a, b) -> Σ a · b along the last axis, which stays with extent 1: sixteen chains, of every "
    "sixteenth element each, added in halves");

}  // namespace volvox
