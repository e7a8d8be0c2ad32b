#include "cells/cell.h"

namespace volvox {

std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::kGather:
      return "gather";
    case OpKind::kGatherAll:
      return "gather_all";
    case OpKind::kPull:
      return "pull";
    case OpKind::kScatter:
      return "scatter";
    case OpKind::kPush:
      return "push";
    case OpKind::kEmbed:
      return "embed";
    case OpKind::kProduct:
      return "product";
    case OpKind::kConvolution:
      return "convolution";
    case OpKind::kSlice:
      return "slice";
    case OpKind::kConcat:
      return "concat";
    case OpKind::kAdd:
      return "add";
    case OpKind::kMul:
      return "mul";
    case OpKind::kMulAdd:
      return "mul_add";
    case OpKind::kSigmoid:
      return "sigmoid";
    case OpKind::kTanh:
      return "tanh";
    case OpKind::kSegmentSum:
      return "segment_sum";
    case OpKind::kArgmax:
      return "argmax";
    case OpKind::kHash:
      return "hash";
    case OpKind::kHashAll:
      return "hash_all";
  }
  return "unknown";
}

const Operator* Cell::producer(ValueId value) const {
  if (value == kNoValue) return nullptr;
  for (const Operator& op : operators) {
    if (op.output == value) return &op;
  }
  return nullptr;
}

}  // namespace volvox
