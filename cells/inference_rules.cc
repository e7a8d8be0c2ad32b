// What each operator needs, and what it makes of it.
#include <algorithm>
#include <string>

#include "cells/inference.h"
#include "cells/text.h"

namespace volvox {
namespace {

constexpr std::int64_t kMaxConvolutionExtent = 65536;

}  // namespace

Status Inference::gather() {
  if (Status status = arity(0, 0); !status) return status;
  if (Status status = number(cell_.gathers, kMaxGathers, "predecessor"); !status) return status;
  Value value = cell_.values[op_->output];
  value.ragged = false;
  std::string key = "state " + in_quotes(op_->name);
  if (op_->index > 0) key += " of predecessor " + std::to_string(op_->index);
  if (Status status = source(key, value.dtype, value.shape); !status) return status;
  return produce(std::move(value));
}

Status Inference::gather_all() {
  if (Status status = arity(0, 0); !status) return status;
  cell_.gathers_all = true;
  Value value = cell_.values[op_->output];
  value.ragged = true;
  if (Status status = source("state " + in_quotes(op_->name), value.dtype, value.shape); !status)
    return status;
  return produce(std::move(value));
}

Status Inference::pull() {
  if (Status status = arity(0, 0); !status) return status;
  if (Status status = number(cell_.pulls, kMaxPulls, "input"); !status) return status;
  Value value = cell_.values[op_->output];
  value.ragged = false;
  const std::string key = "input " + std::to_string(op_->index);
  if (Status status = source(key, value.dtype, value.shape); !status) return status;
  return produce(std::move(value));
}

Status Inference::scatter() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = want(0, in(0).dtype, false); !status) return status;
  if (Status status = source("state " + in_quotes(op_->name), in(0).dtype, in(0).shape); !status)
    return status;
  const auto same = [&](const StateKind& kind) { return kind.name == op_->name; };
  if (std::any_of(states_.begin(), states_.end(), same)) return error("the state is published twice");
  const auto known = std::find_if(cell_.states.begin(), cell_.states.end(), same);
  const double initial = known == cell_.states.end() ? 0.0 : known->initial;
  states_.push_back({op_->name, in(0).shape, in(0).dtype, initial});
  return {};
}

Status Inference::push() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = number(cell_.pushes, kMaxPushes, "result"); !status) return status;
  if (Status status = want(0, in(0).dtype, false); !status) return status;
  if (op_->name.empty()) return error("needs a name");
  if ((results_ & (1U << op_->index)) != 0) {
    return error("result " + std::to_string(op_->index) + " is emitted twice");
  }
  results_ |= 1U << op_->index;
  return {};
}

// What extent `extent` of a weight is, from the weights or else from what the value was declared to be.
Status Inference::declared_width(std::size_t weight, std::size_t extent, std::int64_t& width) const {
  const Tensor* tensor = weights_ == nullptr ? nullptr : weights_->find(op_->weights[weight]);
  const Shape& declared = cell_.values[op_->output].shape;
  if (tensor != nullptr && tensor->shape.size() == 2) {
    width = tensor->shape[extent];
  } else if (declared.size() == 1) {
    width = declared[0];
  } else {
    return error(weights_ == nullptr
                     ? "its width is neither declared nor known from weights"
                     : "weight " + in_quotes(op_->weights[weight]) + " is missing or no matrix");
  }
  if (declared.size() == 1 && declared[0] != width) {
    return error("weight " + in_quotes(op_->weights[weight]) + " gives " + std::to_string(width) +
                 " elements, declared are " + std::to_string(declared[0]));
  }
  return {};
}

Status Inference::embed() {
  if (Status status = arity(1, 1); !status) return status;
  if (Status status = want(0, DType::kI32, false); !status) return status;
  if (!in(0).shape.empty()) return error("its id has the shape " + to_string(in(0).shape) + ", needs []");
  std::int64_t width = 0;
  if (Status status = declared_width(0, 1, width); !status) return status;
  const Tensor* table = weights_ == nullptr ? nullptr : weights_->find(op_->weights[0]);
  const std::int64_t rows = table != nullptr && !table->shape.empty() ? table->shape[0] : 1;
  if (rows < 1) return error("its table is empty");
  if (Status status = weight(0, {rows, width}); !status) return status;
  return produce({DType::kF32, {width}, false});
}

Status Inference::product() {
  const std::size_t terms = op_->weights.size() - (op_->has_bias && !op_->weights.empty() ? 1 : 0);
  if (terms == 0) return error("needs at least one weight");
  if (op_->has_bias && op_->has_start) return error("starts from a bias or from a value, not from both");
  const std::size_t weights = terms + (op_->has_bias ? 1 : 0);
  if (Status status = arity(terms + (op_->has_start ? 1 : 0), weights); !status) return status;
  std::int64_t width = 0;
  if (Status status = declared_width(0, 0, width); !status) return status;
  bool ragged = false;
  for (std::size_t i = 0; i < op_->inputs.size(); ++i) {
    if (Status status = want_vector(i); !status) return status;
    ragged = ragged || in(i).ragged;
  }
  for (std::size_t i = 0; i < terms; ++i) {
    if (Status status = weight(i, {width, in(i).shape[0]}); !status) return status;
  }
  if (op_->has_bias) {
    if (Status status = weight(terms, {width}); !status) return status;
  }
  if (op_->has_start && in(terms).shape[0] != width) {
    return error("its start has " + std::to_string(in(terms).shape[0]) + " elements, needs " +
                 std::to_string(width));
  }
  return produce({DType::kF32, {width}, ragged});
}

Status Inference::convolution() {
  const Convolution& c = op_->convolution;
  if (Status status = arity(1, op_->has_bias ? 2 : 1); !status) return status;
  if (Status status = want(0, DType::kF32, false); !status) return status;
  for (std::int64_t extent : {c.channels, c.height, c.width, c.kernels, c.kernel_height, c.kernel_width,
                              c.stride[0], c.stride[1], c.padding[0] + 1, c.padding[1] + 1}) {
    if (extent < 1 || extent > kMaxConvolutionExtent) {
      return error("its extents and strides are 1 to " + std::to_string(kMaxConvolutionExtent) +
                   ", its padding not negative");
    }
  }
  if (c.inputs() != elements(in(0).shape)) {
    return error("its input has " + std::to_string(elements(in(0).shape)) + " elements, needs " +
                 std::to_string(c.inputs()) + ": channels, height, width");
  }
  if (c.positions() < 1) return error("its kernel is larger than its input");
  if (Status status = weight(0, c.weight_shape()); !status) return status;
  if (op_->has_bias) {
    if (Status status = weight(1, {c.kernels}); !status) return status;
  }
  return produce({DType::kF32, {c.outputs()}, false});
}

Status Inference::slice() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = want_vector(0); !status) return status;
  if (op_->begin < 0 || op_->begin >= op_->end || op_->end > in(0).shape[0]) {
    return error("elements [" + std::to_string(op_->begin) + ", " + std::to_string(op_->end) +
                 ") is no part of a vector of " + std::to_string(in(0).shape[0]));
  }
  return produce({DType::kF32, {op_->end - op_->begin}, in(0).ragged});
}

Status Inference::concat() {
  if (op_->inputs.empty()) return error("needs at least one input");
  if (Status status = arity(op_->inputs.size(), 0); !status) return status;
  Value value{DType::kF32, {0}, false};
  for (std::size_t i = 0; i < op_->inputs.size(); ++i) {
    if (Status status = want_vector(i); !status) return status;
    value.shape[0] += in(i).shape[0];
    value.ragged = value.ragged || in(i).ragged;
  }
  return produce(std::move(value));
}

Status Inference::elementwise(std::size_t inputs) {
  if (Status status = arity(inputs, 0); !status) return status;
  Value value{DType::kF32, in(0).shape, false};
  for (std::size_t i = 0; i < inputs; ++i) {
    if (Status status = want(i, DType::kF32, true); !status) return status;
    if (in(i).shape != value.shape) {
      return error("its inputs have the shapes " + to_string(value.shape) + " and " + to_string(in(i).shape));
    }
    value.ragged = value.ragged || in(i).ragged;
  }
  return produce(std::move(value));
}

Status Inference::segment_sum() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = want(0, DType::kF32, true); !status) return status;
  if (!in(0).ragged) return error("its input has no row for each predecessor");
  return produce({DType::kF32, in(0).shape, false});
}

Status Inference::argmax() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = want(0, DType::kF32, false); !status) return status;
  if (Status status = want_vector(0); !status) return status;
  return produce({DType::kI32, {}, false});
}

Status Inference::hash(bool of_predecessors) {
  if (Status status = arity(2, 0); !status) return status;
  if (Status status = want(0, DType::kU64, of_predecessors); !status) return status;
  if (of_predecessors && !in(0).ragged) return error("its input has no row for each predecessor");
  if (Status status = want(1, DType::kI32, false); !status) return status;
  if (!in(0).shape.empty() || !in(1).shape.empty()) return error("hashes single numbers only");
  return produce({DType::kU64, {}, false});
}

}  // namespace volvox
