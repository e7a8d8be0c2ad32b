#pragma once

#include "cells/ops/op.h"

namespace volvox {

// Operators that others than their own source name: what builds cells, takes them apart, or runs them.

// What binds a cell to the world around it. `index` and `name` are the operator's own (cells/ir/cell.h).
extern const OpDef
    kGatherOp;  // () -> state `name` of predecessor `index`; the initial value where there is none
extern const OpDef kGatherAllOp;  // () -> ragged: state `name` of every predecessor in the list
extern const OpDef
    kPullOp;  // () -> this node's row of the request's input `name`; `index` counts the cell's inputs
extern const OpDef kScatterOp;  // (x) -> publishes x as this node's state `name`
extern const OpDef kPushOp;     // (x) -> emits x as result `name`; `index` counts the cell's results

extern const OpDef kEmbedOp;  // (id i32) -> row `id` of weights[0], shape [vocabulary, width]; none: zeros.
                              // Of several ids a row for each
// (x0, x1, …) -> start + W0·x0 + W1·x1 …: ONE chain of fused multiply-adds for each output element, terms in
// order, ascending k. weights[i] has shape [out, width of x_i] (PyTorch's layout). The start is the last
// weight (the bias, shape [out]) when has_bias, else the last input (shape [out]) when has_start, else zero.
extern const OpDef kProductOp;
// The same for each stretch along the last axis of x0, x1, …, which have the same other axes; from the bias,
// or zero.
extern const OpDef kLinearOp;
// (x) -> bias + each window of x times each kernel of weights[0], as `convolution` says: a vector of
// [kernels, out_height, out_width]. ONE chain of fused multiply-adds for each element, from the bias
// (weights[1], shape [kernels], when has_bias), tap by tap, and of each tap channel by channel. What lies
// outside of x adds nothing, or a product with zero: which of both shows only where a weight is no number.
extern const OpDef kConvolutionOp;
extern const OpDef kSliceOp;   // (x) -> x[begin, end) of a vector
extern const OpDef kConcatOp;  // (x0, x1, …) -> one vector

extern const OpDef kAddOp;      // (a, b) -> a + b, element by element
extern const OpDef kMulOp;      // (a, b) -> a · b
extern const OpDef kMulAddOp;   // (a, b, c) -> fma(a, b, c)
extern const OpDef kSigmoidOp;  // (x)
extern const OpDef kTanhOp;     // (x)
extern const OpDef kSubOp;      // (a, b) -> a − b
extern const OpDef kDivOp;      // (a, b) -> a / b
extern const OpDef kExpOp;      // (x)
extern const OpDef kLogOp;      // (x)
extern const OpDef kReluOp;     // (x)
extern const OpDef kSqrtOp;     // (x)
extern const OpDef kDotOp;  // (a, b) -> Σ a·b along the last axis, which stays with extent 1 (RealMath::dots)
extern const OpDef kReshapeOp;  // (x) -> the same elements in another shape
// (x; …) -> elements of x, elsewhere.
extern const OpDef kConcatAxisOp, kPadOp, kPadReflectOp, kSliceAxisOp, kTransposeOp;
// () -> the same for every row: attributes.integers is the shape, the numbers are weights[0], or
// attributes.reals.
extern const OpDef kConstantOp;
extern const OpDef kSegmentSumOp;  // (ragged) -> sum over the predecessors, in their order; zero for none
// (x) -> i32: index of the largest element of a vector, the first of equals. A NaN is less than all else:
// where all are NaN it is 0.
extern const OpDef kArgmaxOp;
extern const OpDef kHashOp;  // (state u64, token i32) -> u64: the mixing function of check_hash()
// (ragged u64, token i32) -> u64: check_hash(0, token), then mixed with each predecessor's number, in their
// order
extern const OpDef kHashAllOp;

}  // namespace volvox
