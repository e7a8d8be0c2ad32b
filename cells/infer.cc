#include "cells/infer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cells/text.h"

namespace volvox {
namespace {

using Text = std::string;

Text described(DType dtype, const Shape& shape) {
  return Text(to_string(dtype)) + to_string(shape);
}

// One pass over the operators of one cell.
class Inference {
 public:
  Inference(Cell& cell, const Weights* weights, std::string_view model)
      : cell_(cell), weights_(weights), model_(model), produced_(cell.values.size(), false) {}

  Status run();

 private:
  Status error(const Text& what) const;
  Value& in(std::size_t i) { return cell_.values[op_->inputs[i]]; }

  Status apply();
  Status by_kind();
  Status check_inputs();
  Status source(const Text& key, DType dtype, const Shape& shape);
  Status arity(std::size_t inputs, std::size_t weights) const;
  Status want(std::size_t i, DType dtype, bool may_be_ragged);
  Status want_vector(std::size_t i);
  Status weight(std::size_t i, const Shape& wanted) const;
  Status number(std::uint32_t& count, std::size_t most, std::string_view what) const;
  Status produce(Value value);

  Status gather();
  Status gather_all();
  Status pull();
  Status scatter();
  Status push();
  Status embed();
  Status product();
  Status slice();
  Status concat();
  Status elementwise(std::size_t inputs);
  Status segment_sum();
  Status hash();
  Status declared_width(std::size_t weight, std::size_t extent, std::int64_t& width) const;

  Cell& cell_;
  const Weights* weights_;
  std::string_view model_;
  std::vector<bool> produced_;
  const Operator* op_ = nullptr;
  std::map<Text, std::pair<DType, Shape>> sources_;  // "state h", "input 0": as first met
  std::vector<StateKind> states_;
  std::uint32_t results_ = 0;  // bit i: result i is emitted
};

Status Inference::error(const Text& what) const {
  Text where = model_.empty() ? "" : "model " + in_quotes(model_) + ", ";
  where += "cell " + in_quotes(cell_.name);
  if (op_ != nullptr) {
    where += ", operator " + std::to_string(op_ - cell_.operators.data()) + " (" + Text(to_string(op_->kind));
    for (const Text& name : op_->weights) where += " " + name;
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
    case OpKind::kHash:
      return hash();
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
                 Text(to_string(dtype)));
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

// A state or an input has one shape and one type wherever the cell uses it.
Status Inference::source(const Text& key, DType dtype, const Shape& shape) {
  if (op_->name.empty()) return error("needs a name");
  const auto [it, first] = sources_.try_emplace(key, dtype, shape);
  if (first || it->second == std::pair(dtype, shape)) return {};
  return error(key + " is " + described(dtype, shape) + " here, but " +
               described(it->second.first, it->second.second) + " before");
}

Status Inference::number(std::uint32_t& count, std::size_t most, std::string_view what) const {
  if (op_->index >= most) {
    return error(Text(what) + " " + std::to_string(op_->index) + " is out of range: a cell has at most " +
                 std::to_string(most));
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

Status Inference::gather() {
  if (Status status = arity(0, 0); !status) return status;
  if (Status status = number(cell_.gathers, kMaxGathers, "predecessor"); !status) return status;
  Value value = cell_.values[op_->output];
  value.ragged = false;
  if (Status status = source("state " + in_quotes(op_->name), value.dtype, value.shape); !status)
    return status;
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
  const Text key = "input " + std::to_string(op_->index);
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

Status Inference::slice() {
  if (Status status = arity(1, 0); !status) return status;
  if (Status status = want_vector(0); !status) return status;
  if (op_->begin < 0 || op_->begin >= op_->end || op_->end > in(0).shape[0]) {
    return error("[" + std::to_string(op_->begin) + ", " + std::to_string(op_->end) +
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

Status Inference::hash() {
  if (Status status = arity(2, 0); !status) return status;
  if (Status status = want(0, DType::kU64, false); !status) return status;
  if (Status status = want(1, DType::kI32, false); !status) return status;
  if (!in(0).shape.empty() || !in(1).shape.empty()) return error("hashes single numbers only");
  return produce({DType::kU64, {}, false});
}

}  // namespace

Status infer(Cell& cell, const Weights* weights, std::string_view model) {
  return Inference(cell, weights, model).run();
}

}  // namespace volvox
