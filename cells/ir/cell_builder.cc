#include "cells/ir/cell_builder.h"

#include <algorithm>
#include <utility>

#include "cells/ir/infer.h"
#include "cells/ir/inference.h"
#include "cells/ops/ops.h"

namespace volvox {

CellBuilder::CellBuilder(std::string name) {
  cell_.name = std::move(name);
}

CellBuilder& CellBuilder::state(StateKind kind) {
  kinds_.push_back(std::move(kind));
  return *this;
}

ValueId CellBuilder::emit(Operator op, Value value) {
  if (!op.def->sink) {
    op.output = static_cast<ValueId>(cell_.values.size());
    cell_.values.push_back(std::move(value));
  }
  cell_.operators.push_back(std::move(op));
  return cell_.operators.back().output;
}

Value CellBuilder::declared(std::string_view kind) {
  const auto it =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const StateKind& k) { return k.name == kind; });
  if (it != kinds_.end()) return {it->dtype, it->shape, false};
  if (!error_) {
    error_ = "operator " + std::to_string(cell_.operators.size()) + ": no state '" + std::string(kind) +
             "' is declared";
  }
  return {};
}

ValueId CellBuilder::gather_one(std::uint32_t index, std::string_view kind) {
  return emit({.def = &kGatherOp, .name = std::string(kind), .index = index}, declared(kind));
}

ValueId CellBuilder::gather(std::uint32_t index, std::string_view kind, Shape shape, DType dtype) {
  return emit({.def = &kGatherOp, .name = std::string(kind), .index = index},
              {dtype, std::move(shape), false});
}

ValueId CellBuilder::gather_all_of(std::string_view kind) {
  return emit({.def = &kGatherAllOp, .name = std::string(kind)}, declared(kind));
}

ValueId CellBuilder::pull(std::string_view name, DType dtype, Shape shape) {
  auto it = std::find(inputs_.begin(), inputs_.end(), name);
  if (it == inputs_.end()) it = inputs_.insert(it, std::string(name));
  const auto index = static_cast<std::uint32_t>(it - inputs_.begin());
  return emit({.def = &kPullOp, .name = std::string(name), .index = index}, {dtype, std::move(shape), false});
}

void CellBuilder::scatter(std::string_view kind, ValueId value) {
  declared(kind);
  emit({.def = &kScatterOp, .inputs = {value}, .name = std::string(kind)});
}

void CellBuilder::push(std::string_view name, ValueId value) {
  emit({.def = &kPushOp, .inputs = {value}, .name = std::string(name), .index = cell_.pushes++});
}

ValueId CellBuilder::embed(ValueId id, std::string_view table, std::int64_t width) {
  const Shape shape = width == 0 ? Shape{} : Shape{width};
  return emit({.def = &kEmbedOp, .inputs = {id}, .weights = {std::string(table)}},
              {DType::kF32, shape, false});
}

ValueId CellBuilder::product(std::initializer_list<Term> terms, const Start& start) {
  return emit_sum(kProductOp, terms, start);
}

ValueId CellBuilder::linear(std::initializer_list<Term> terms, const Start& start) {
  return emit_sum(kLinearOp, terms, start);
}

ValueId CellBuilder::emit_sum(const OpDef& def, std::initializer_list<Term> terms, const Start& start) {
  Operator op{.def = &def};
  for (const Term& term : terms) {
    op.inputs.push_back(term.x);
    op.weights.emplace_back(term.weight);
  }
  if (!start.bias.empty()) {
    op.weights.emplace_back(start.bias);
    op.has_bias = true;
  }
  if (start.value != kNoValue) {
    op.inputs.push_back(start.value);
    op.has_start = true;
  }
  return emit(std::move(op), {DType::kF32, start.width == 0 ? Shape{} : Shape{start.width}, false});
}

ValueId CellBuilder::slice(ValueId x, std::int64_t begin, std::int64_t end) {
  return emit({.def = &kSliceOp, .inputs = {x}, .begin = begin, .end = end});
}

ValueId CellBuilder::concat(std::vector<ValueId> parts) {
  return emit({.def = &kConcatOp, .inputs = std::move(parts)});
}

ValueId CellBuilder::add(ValueId a, ValueId b) {
  return emit({.def = &kAddOp, .inputs = {a, b}});
}

ValueId CellBuilder::mul(ValueId a, ValueId b) {
  return emit({.def = &kMulOp, .inputs = {a, b}});
}

ValueId CellBuilder::mul_add(ValueId a, ValueId b, ValueId c) {
  return emit({.def = &kMulAddOp, .inputs = {a, b, c}});
}

ValueId CellBuilder::sigmoid(ValueId x) {
  return emit({.def = &kSigmoidOp, .inputs = {x}});
}

ValueId CellBuilder::tanh(ValueId x) {
  return emit({.def = &kTanhOp, .inputs = {x}});
}

ValueId CellBuilder::segment_sum(ValueId ragged) {
  return emit({.def = &kSegmentSumOp, .inputs = {ragged}});
}

ValueId CellBuilder::convolution(ValueId x, std::string_view weight, const Convolution& shape,
                                 std::string_view bias) {
  Operator op{.def = &kConvolutionOp, .inputs = {x}, .weights = {std::string(weight)}};
  op.convolution = shape;
  op.has_bias = !bias.empty();
  if (op.has_bias) op.weights.emplace_back(bias);
  return emit(std::move(op));
}

ValueId CellBuilder::argmax(ValueId x) {
  return emit({.def = &kArgmaxOp, .inputs = {x}});
}

ValueId CellBuilder::emit_named(std::string_view name, Operator op) {
  op.def = find_op(name);
  if (op.def != nullptr && op.def->evaluate_f32 != nullptr) return emit(std::move(op));
  if (!error_) {
    error_ = "operator " + std::to_string(cell_.operators.size()) + ": there is no operator '" +
             std::string(name) + "' that computes";
  }
  return kNoValue;
}

ValueId CellBuilder::apply(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                           std::vector<std::string> weights) {
  Operator made{.inputs = std::move(inputs), .weights = std::move(weights)};
  made.attributes = std::move(attributes);
  return emit_named(op, std::move(made));
}

ValueId CellBuilder::pool(std::string_view op, ValueId x, const Convolution& shape) {
  Operator made{.inputs = {x}};
  made.convolution = shape;
  return emit_named(op, std::move(made));
}

ValueId CellBuilder::constant(double number) {
  return apply("constant", {}, {.reals = {number}});
}

ValueId CellBuilder::reshape(ValueId x, const Shape& shape) {
  return apply("reshape", {x}, {.integers = shape});
}

ValueId CellBuilder::hash(ValueId state, ValueId token) {
  return emit({.def = &kHashOp, .inputs = {state, token}});
}

ValueId CellBuilder::hash_all(ValueId ragged, ValueId token) {
  return emit({.def = &kHashAllOp, .inputs = {ragged, token}});
}

Result<Cell> CellBuilder::build(const Weights* weights, std::string_view model) const {
  if (error_) {
    const std::string where = model.empty() ? "" : "model '" + std::string(model) + "', ";
    return invalid(where + "cell '" + cell_.name + "', " + *error_);
  }
  Cell cell = cell_;
  cell.states = kinds_;  // where infer() finds initial values
  if (Status status = infer(cell, weights, model); !status) return tl::unexpected(status.error());
  for (const StateKind& scattered : cell.states) {
    const bool fits = std::find(kinds_.begin(), kinds_.end(), scattered) != kinds_.end();
    if (!fits) {
      return invalid("cell '" + cell.name + "', operator scatter " + scattered.name + ": publishes " +
                     described(scattered.dtype, scattered.shape) +
                     ", which is not how the state is declared");
    }
  }
  return cell;
}

}  // namespace volvox
