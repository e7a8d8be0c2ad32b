#include "cells/ir/inference.h"

#include <algorithm>

#include "base/text.h"
#include "cells/ir/infer.h"
#include "cells/ir/mirror.h"
#include "cells/ops/op.h"

namespace volvox {

std::string described(DType dtype, const Shape& shape) {
  return std::string(to_string(dtype)) + to_string(shape);
}

Status Inference::error(const std::string& what) const {
  std::string where = model_.empty() ? "" : "model " + in_quotes(model_) + ", ";
  where += "cell " + in_quotes(cell_.name);
  if (op_ != nullptr) {
    where += ", operator " + std::to_string(op_ - cell_.operators.data()) + " (" +
             std::string(op_->def == nullptr ? "unknown" : op_->def->name);
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
  infer_sums(cell_);
  return {};
}

Status Inference::apply() {
  if (op_->def == nullptr) return error("is of no known kind");
  if (Status status = check_inputs(); !status) return status;
  const OpDef& def = *op_->def;
  if (def.inputs != OpDef::kAny) {
    Status fits = arity(static_cast<std::size_t>(def.inputs), static_cast<std::size_t>(def.weights));
    if (!fits) return fits;
  }
  return def.infer(*this);
}

Status Inference::check_inputs() {
  for (ValueId input : op_->inputs) {
    if (input >= cell_.values.size() || !produced_[input]) {
      return error("reads value " + std::to_string(input) + ", which no operator before it produces");
    }
  }
  if (op_->def->sink) return op_->output == kNoValue ? Status{} : error("has no value, but names one");
  if (op_->output >= cell_.values.size()) return error("has no value of this cell to produce");
  if (produced_[op_->output]) {
    return error("value " + std::to_string(op_->output) + " is already produced by an operator before it");
  }
  return {};
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

Status Inference::want(std::size_t i, DType dtype, bool may_be_ragged) const {
  if (in(i).dtype != dtype) {
    return error("input " + std::to_string(i) + " is " + described(in(i).dtype, in(i).shape) + ", needs " +
                 std::string(to_string(dtype)));
  }
  if (in(i).ragged && !may_be_ragged) {
    return error("input " + std::to_string(i) + " has a row for each predecessor, needs a single one");
  }
  return {};
}

Status Inference::want_vector(std::size_t i) const {
  if (Status status = want(i, DType::kF32, true); !status) return status;
  if (in(i).shape.size() == 1) return {};
  return error("input " + std::to_string(i) + " has the shape " + to_string(in(i).shape) +
               ", needs a vector");
}

Status Inference::want_ragged(std::size_t i) const {
  return in(i).ragged ? Status{} : error("its input has no row for each predecessor");
}

const Tensor* Inference::tensor(std::size_t weight) const {
  return weights_ == nullptr ? nullptr : weights_->find(op_->weights[weight]);
}

// What the file has in place of a weight that it has not.
static std::string instead_of(const std::string& name, const Weights& weights) {
  if (name.ends_with("bias") && weights.find(name + "_ih") != nullptr &&
      weights.find(name + "_hh") != nullptr) {
    return "; add " + in_quotes(name + "_ih") + " and " + in_quotes(name + "_hh") + ", and save the sum";
  }
  constexpr std::size_t kNamed = 12;
  std::string names;
  std::size_t number = 0;
  for (const auto& [one, tensor] : weights.all()) {
    if (++number > kNamed) break;
    names += (names.empty() ? "" : ", ") + in_quotes(one);
  }
  if (number > kNamed) names += " and " + std::to_string(weights.all().size() - kNamed) + " more";
  return names.empty() ? "; the file has none" : "; there are " + names;
}

Status Inference::weight(std::size_t i, const Shape& wanted) const {
  if (op_->weights[i].empty()) return error("weight " + std::to_string(i) + " has no name");
  if (weights_ == nullptr) return {};
  const Tensor* tensor = weights_->find(op_->weights[i]);
  if (tensor == nullptr)
    return error("there is no weight " + in_quotes(op_->weights[i]) + instead_of(op_->weights[i], *weights_));
  if (tensor->dtype != DType::kF32 || tensor->shape != wanted) {
    return error("weight " + in_quotes(op_->weights[i]) + " is " + described(tensor->dtype, tensor->shape) +
                 ", needs " + described(DType::kF32, wanted));
  }
  return {};
}

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

Status Inference::attributes(std::size_t fewest, std::size_t most, std::size_t reals) const {
  const Attributes& given = op_->attributes;
  if (given.integers.size() < fewest || given.integers.size() > most) {
    const std::string range = std::to_string(fewest) + (most == fewest ? "" : " to " + std::to_string(most));
    return error("has " + std::to_string(given.integers.size()) + " integer attributes, needs " + range);
  }
  if (given.reals.size() == reals) return {};
  return error("has " + std::to_string(given.reals.size()) + " real attributes, needs " +
               std::to_string(reals));
}

Status Inference::axis(std::size_t i, std::size_t& axis) const {
  const std::int64_t named = op_->attributes.integers[i];
  if (named < 0 || static_cast<std::size_t>(named) >= in(0).shape.size()) {
    return error("axis " + std::to_string(named) + " is none of " + to_string(in(0).shape));
  }
  axis = static_cast<std::size_t>(named);
  return {};
}

Status Inference::produce(Value value) {
  if (value.shape.size() > kMaxAxes) {
    return error("its value has " + std::to_string(value.shape.size()) + " axes, may have " +
                 std::to_string(kMaxAxes));
  }
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

Status Inference::declared_width(std::size_t weight, std::size_t extent, std::int64_t& width) const {
  const Tensor* given = tensor(weight);
  const Shape& declared = out().shape;
  if (given != nullptr && given->shape.size() == 2) {
    width = given->shape[extent];
  } else if (!declared.empty()) {
    width = declared.back();
  } else {
    return error(weights_ == nullptr
                     ? "its width is neither declared nor known from weights"
                     : "weight " + in_quotes(op_->weights[weight]) + " is missing or no matrix");
  }
  if (!declared.empty() && declared.back() != width) {
    const bool transposed = given->shape[0] != given->shape[1] && given->shape[1 - extent] == declared.back();
    return error("weight " + in_quotes(op_->weights[weight]) + " is " +
                 described(given->dtype, given->shape) + ": that gives " + std::to_string(width) +
                 " elements, declared are " + std::to_string(declared.back()) +
                 (transposed ? "; is it transposed?" : ""));
  }
  return {};
}

Status Inference::read_state(const std::string& whose, bool ragged) {
  Value value = out();
  value.ragged = ragged;
  if (Status status = source("state " + in_quotes(op_->name) + whose, value.dtype, value.shape); !status)
    return status;
  return produce(std::move(value));
}

Status Inference::publish(DType dtype, const Shape& shape) {
  if (Status status = source("state " + in_quotes(op_->name), dtype, shape); !status) return status;
  const auto same = [&](const StateKind& kind) { return kind.name == op_->name; };
  if (std::any_of(states_.begin(), states_.end(), same)) return error("the state is published twice");
  const auto known = std::find_if(cell_.states.begin(), cell_.states.end(), same);
  const double initial = known == cell_.states.end() ? 0.0 : known->initial;
  states_.push_back({op_->name, shape, dtype, initial});
  return {};
}

Status Inference::emit() {
  if (op_->name.empty()) return error("needs a name");
  if ((results_ & (1U << op_->index)) != 0) {
    return error("result " + std::to_string(op_->index) + " is emitted twice");
  }
  results_ |= 1U << op_->index;
  return {};
}

bool spread_shape(const Shape& a, const Shape& b, Shape& out) {
  const Shape& longer = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  Shape both = longer;
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& extent = both[missing + axis];
    if (extent == 1) extent = shorter[axis];
    if (shorter[axis] != 1 && shorter[axis] != extent) return false;
  }
  out = std::move(both);
  return true;
}

Status Inference::spread(std::size_t first, std::size_t last, Value& value) const {
  value.shape = in(first).shape;
  value.ragged = false;
  for (std::size_t i = first; i < last; ++i) {
    if (!spread_shape(value.shape, in(i).shape, value.shape)) {
      return error("its inputs have the shapes " + to_string(value.shape) + " and " + to_string(in(i).shape));
    }
    value.ragged = value.ragged || in(i).ragged;
  }
  return {};
}

Status Inference::elementwise() {
  for (std::size_t i = 0; i < op_->inputs.size(); ++i) {
    if (Status status = want(i, DType::kF32, true); !status) return status;
  }
  Value value;
  if (Status status = spread(0, op_->inputs.size(), value); !status) return status;
  return produce(std::move(value));
}

Status Inference::produce_hash() {
  if (Status status = want(1, DType::kI32, false); !status) return status;
  if (!in(0).shape.empty() || !in(1).shape.empty()) return error("hashes single numbers only");
  return produce({DType::kU64, {}, false});
}

}  // namespace volvox
