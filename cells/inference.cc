#include "cells/inference.h"

#include <algorithm>

#include "cells/infer.h"
#include "cells/text.h"

namespace volvox {

std::string described(DType dtype, const Shape& shape) {
  return std::string(to_string(dtype)) + to_string(shape);
}

Status Inference::error(const std::string& what) const {
  std::string where = model_.empty() ? "" : "model " + in_quotes(model_) + ", ";
  where += "cell " + in_quotes(cell_.name);
  if (op_ != nullptr) {
    where += ", operator " + std::to_string(op_ - cell_.operators.data()) + " (" +
             std::string(to_string(op_->kind));
    for (const std::string& name : op_->weights) where += " " + name;
    if (!op_->name.empty()) where += " " + op_->name;
    where += ")";
  }
  return invalid(where + ": " + what);
}

Status Inference::run() {
  cell_.gathers = cell_.pulls = cell_.pushes = 0;
  cell_.gathers_all = false;
  for (const Operator& op : cell_.operators) {
    op_ = &op;
    if (Status status = apply(); !status) return status;
  }
  op_ = nullptr;
  const auto missing = std::find(produced_.begin(), produced_.end(), false);
  if (missing != produced_.end()) {
    return error("nothing produces value " + std::to_string(missing - produced_.begin()));
  }
  cell_.states = std::move(states_);
  return {};
}

Status Inference::apply() {
  if (Status status = check_inputs(); !status) return status;
  return by_kind();
}

Status Inference::check_inputs() {
  for (ValueId input : op_->inputs) {
    if (input >= cell_.values.size() || !produced_[input]) {
      return error("reads value " + std::to_string(input) + ", which no operator before it produces");
    }
  }
  const bool sink = op_->kind == OpKind::kScatter || op_->kind == OpKind::kPush;
  if (sink) return op_->output == kNoValue ? Status{} : error("has no value, but names one");
  if (op_->output >= cell_.values.size()) return error("has no value of this cell to produce");
  if (produced_[op_->output]) {
    return error("value " + std::to_string(op_->output) + " is already produced by an operator before it");
  }
  return {};
}

Status Inference::by_kind() {
  switch (op_->kind) {
    case OpKind::kGather:
      return gather();
    case OpKind::kGatherAll:
      return gather_all();
    case OpKind::kPull:
      return pull();
    case OpKind::kScatter:
      return scatter();
    case OpKind::kPush:
      return push();
    case OpKind::kEmbed:
      return embed();
    case OpKind::kProduct:
      return product();
    case OpKind::kConvolution:
      return convolution();
    case OpKind::kSlice:
      return slice();
    case OpKind::kConcat:
      return concat();
    case OpKind::kAdd:
    case OpKind::kMul:
      return elementwise(2);
    case OpKind::kMulAdd:
      return elementwise(3);
    case OpKind::kSigmoid:
    case OpKind::kTanh:
      return elementwise(1);
    case OpKind::kSegmentSum:
      return segment_sum();
    case OpKind::kArgmax:
      return argmax();
    case OpKind::kHash:
      return hash(false);
    case OpKind::kHashAll:
      return hash(true);
  }
  return error("is of no known kind");
}

Status Inference::arity(std::size_t inputs, std::size_t weights) const {
  if (op_->inputs.size() != inputs) {
    return error("has " + std::to_string(op_->inputs.size()) + " inputs, needs " + std::to_string(inputs));
  }
  if (op_->weights.size() != weights) {
    return error("has " + std::to_string(op_->weights.size()) + " weights, needs " + std::to_string(weights));
  }
  return {};
}

Status Inference::want(std::size_t i, DType dtype, bool may_be_ragged) {
  if (in(i).dtype != dtype) {
    return error("input " + std::to_string(i) + " is " + described(in(i).dtype, in(i).shape) + ", needs " +
                 std::string(to_string(dtype)));
  }
  if (in(i).ragged && !may_be_ragged) {
    return error("input " + std::to_string(i) + " has a row for each predecessor, needs a single one");
  }
  return {};
}

Status Inference::want_vector(std::size_t i) {
  if (Status status = want(i, DType::kF32, true); !status) return status;
  if (in(i).shape.size() == 1) return {};
  return error("input " + std::to_string(i) + " has the shape " + to_string(in(i).shape) +
               ", needs a vector");
}

Status Inference::weight(std::size_t i, const Shape& wanted) const {
  if (op_->weights[i].empty()) return error("weight " + std::to_string(i) + " has no name");
  if (weights_ == nullptr) return {};
  const Tensor* tensor = weights_->find(op_->weights[i]);
  if (tensor == nullptr) return error("there is no weight " + in_quotes(op_->weights[i]));
  if (tensor->dtype != DType::kF32 || tensor->shape != wanted) {
    return error("weight " + in_quotes(op_->weights[i]) + " is " + described(tensor->dtype, tensor->shape) +
                 ", needs " + described(DType::kF32, wanted));
  }
  return {};
}

// An input has one shape and one type wherever the cell uses it, and so has a state of one predecessor.
// (Those with other numbers may be of other cells, with states of other shapes: validate() sees whose they
// are.)
Status Inference::source(const std::string& key, DType dtype, const Shape& shape) {
  if (op_->name.empty()) return error("needs a name");
  const auto [it, first] = sources_.try_emplace(key, dtype, shape);
  if (first || it->second == std::pair(dtype, shape)) return {};
  return error(key + " is " + described(dtype, shape) + " here, but " +
               described(it->second.first, it->second.second) + " before");
}

Status Inference::number(std::uint32_t& count, std::size_t most, std::string_view what) const {
  if (op_->index >= most) {
    return error(std::string(what) + " " + std::to_string(op_->index) +
                 " is out of range: a cell has at most " + std::to_string(most));
  }
  count = std::max(count, op_->index + 1);
  return {};
}

Status Inference::produce(Value value) {
  std::int64_t count = 1;
  for (std::int64_t extent : value.shape) {
    if (extent <= 0 || extent > kMaxValueElements / count) {
      return error("its value has the shape " + to_string(value.shape) + ": needs 1 to " +
                   std::to_string(kMaxValueElements) + " elements");
    }
    count *= extent;
  }
  cell_.values[op_->output] = std::move(value);
  produced_[op_->output] = true;
  return {};
}

}  // namespace volvox
