#include "import/onnx/cell_writer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/text.h"
#include "cells/ir/evaluate.h"
#include "cells/ir/inference.h"
#include "cells/ir/product_terms.h"
#include "cells/ops/ops.h"
#include "cells/ops/strides.h"
#include "import/onnx/known.h"

namespace volvox::onnx_import {
namespace {

constexpr std::size_t kMaxJoinedTerms = 2;
constexpr std::size_t kMaxPartedTerms = 4;  // that kernels of devices take
constexpr int kMaxDepth = 16;               // of tensors that were put together of others
constexpr std::size_t kMaxBackwards = 1024;
constexpr std::size_t kFewNumbers = 8;  // that stand in the cell itself

const OpDef* op_named(std::string_view name) {
  const OpDef* def = find_op(name);
  if (def == nullptr) refuse("cells have no operator " + in_quotes(name));
  return def;
}

struct Deeper {
  explicit Deeper(int& depth) : depth(++depth) {}
  ~Deeper() { --depth; }
  int& depth;
};

std::vector<std::int64_t> sliced_places(const Shape& shape, std::size_t axis,
                                        const std::vector<std::int64_t>& kept) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  std::vector<std::int64_t> places;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t at : kept) {
      for (std::int64_t k = 0; k < inner; ++k) places.push_back((o * shape[axis] + at) * inner + k);
    }
  }
  return places;
}

bool leads(const Shape& shape, std::size_t axis) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                     [](std::int64_t extent) { return extent == 1; });
}

}  // namespace

Quantity CellWriter::emit(Operator op, Shape shape, DType dtype) {
  if (cell_.operators.size() >= kMaxWrittenOperators) refuse("the cell would have too many operators");
  checked_elements(shape);
  if (!op.def->sink) {
    op.output = static_cast<ValueId>(cell_.values.size());
    cell_.values.push_back({dtype, shape, false});
    producers_.push_back(cell_.operators.size());
  }
  const ValueId id = op.output;
  cell_.operators.push_back(std::move(op));
  return {.id = id, .shape = std::move(shape), .dtype = dtype};
}

Quantity CellWriter::pull(const std::string& name, std::uint32_t index, DType dtype, const Shape& shape) {
  return emit({.def = &kPullOp, .name = name, .index = index}, shape, dtype);
}

Quantity CellWriter::gather(const std::string& state, const Shape& shape, std::uint32_t index, DType dtype) {
  return emit({.def = &kGatherOp, .name = state, .index = index}, shape, dtype);
}

void CellWriter::scatter(const std::string& state, const Quantity& x, double initial) {
  const Quantity value = computed(x);
  cell_.states.push_back({.name = state, .shape = value.shape, .dtype = value.dtype, .initial = initial});
  emit({.def = &kScatterOp, .inputs = {value.id}, .name = state}, {});
}

void CellWriter::push(const std::string& name, std::uint32_t index, const Quantity& x) {
  emit({.def = &kPushOp, .inputs = {computed(x).id}, .name = name, .index = index}, {});
}

bool CellWriter::is_made_by(const Quantity& x, std::string_view op) const {
  return !x.is_known() && producer(x).def->name == op;
}

Quantity CellWriter::computed(const Quantity& x) {
  if (!x.is_known()) return x;
  if (x.known->size() == 0) refuse("an empty tensor is computed with");
  const auto made = constants_.find({x.known.get(), x.shape});
  if (made != constants_.end()) return {.id = made->second, .shape = x.shape};
  Operator op{.def = &kConstantOp};
  op.attributes.integers = x.shape;
  const KnownTensor reals = as_real(x.known);
  if (reals->size() <= kFewNumbers) {
    op.attributes.reals.assign(reals->reals.begin(), reals->reals.end());
  } else {
    op.weights.push_back(weight(reals, x.shape));
  }
  const Quantity value = emit(std::move(op), x.shape);
  constants_[{x.known.get(), x.shape}] = value.id;
  kept_.push_back(x.known);
  return value;
}

Quantity CellWriter::apply(std::string_view name, std::vector<Quantity> inputs, Attributes attributes,
                           Shape shape, std::vector<KnownTensor> weights, DType dtype) {
  Operator op{.def = op_named(name)};
  op.attributes = std::move(attributes);
  const auto is_known = [](const Quantity& x) { return x.is_known(); };
  if (std::all_of(inputs.begin(), inputs.end(), is_known)) return evaluate(op, inputs, weights, shape, dtype);
  for (const Quantity& input : inputs) op.inputs.push_back(computed(input).id);
  for (const KnownTensor& numbers : weights) op.weights.push_back(weight(numbers, numbers->shape));
  return emit(std::move(op), std::move(shape), dtype);
}

// By the definition that runs it in cells: a cell that does only this.
Quantity CellWriter::evaluate(const Operator& what, const std::vector<Quantity>& inputs,
                              const std::vector<KnownTensor>& weights, const Shape& shape, DType dtype) {
  const bool sums = what.def->name == "matmul";
  folded_ += checked_elements(shape) * (sums ? inputs.front().shape.back() : 1);
  if (folded_ > kMaxFoldedElements) refuse("more is to be computed beforehand than is allowed");
  if (dtype != DType::kF32) refuse("whole numbers of constants are not computed with here");
  std::map<std::string, Tensor, std::less<>> tensors;
  std::vector<KnownTensor> owned;
  Cell cell;
  cell.name = "folded";
  Operator op = what;
  const auto add_tensor = [&](const KnownTensor& numbers) {
    owned.push_back(as_real(numbers));
    const std::string name = std::to_string(owned.size());
    tensors[name] = {DType::kF32, owned.back()->shape, std::as_bytes(std::span(owned.back()->reals))};
    return name;
  };
  for (const Quantity& input : inputs) {
    Operator constant{.def = &kConstantOp, .weights = {add_tensor(input.known)}};
    constant.attributes.integers = input.shape;
    constant.output = static_cast<ValueId>(cell.values.size());
    tensors[constant.weights[0]].shape = input.shape;
    op.inputs.push_back(constant.output);
    cell.values.push_back({DType::kF32, input.shape, false});
    cell.operators.push_back(std::move(constant));
  }
  for (const KnownTensor& numbers : weights) op.weights.push_back(add_tensor(numbers));
  op.output = static_cast<ValueId>(cell.values.size());
  cell.values.push_back({DType::kF32, shape, false});
  const ValueId result = op.output;
  cell.operators.push_back(std::move(op));
  cell.operators.push_back({.def = &kPushOp, .inputs = {result}, .name = "result"});
  const auto program = CellProgram::make(std::move(cell), Weights(std::move(tensors), nullptr));
  if (!program) refuse(program.error().message);
  std::vector<float> numbers(static_cast<std::size_t>(elements(program->cell().values[result].shape)));
  CellRow row;
  row.pushes[0] = numbers.data();
  CellEvaluator<float>(*program).run(row);
  return known_reals(program->cell().values[result].shape, std::move(numbers));
}

Quantity CellWriter::reshape(const Quantity& x, const Shape& shape) {
  if (shape == x.shape) return x;
  const auto checked = x.is_known() ? checked_numbers : checked_elements;
  if (checked(shape) != checked(x.shape))
    refuse("the shapes " + to_string(x.shape) + " and " + to_string(shape) +
           " have different numbers of elements");
  if (x.is_known()) {
    auto made = std::make_shared<Constant>(*x.known);
    made->shape = shape;
    return known(std::move(made));
  }
  if (is_made_by(x, "reshape")) return reshape(value_of(producer(x).inputs[0]), shape);
  Operator op{.def = &kReshapeOp, .inputs = {x.id}};
  op.attributes.integers = shape;
  return emit(std::move(op), shape, x.dtype);
}

// What is moved is f32, which holds each id of a table of 2^24 rows.
Quantity CellWriter::as_f32(const Quantity& x) {
  return is_id(x) ? apply("to_f32", {x}, {}, x.shape) : x;
}

Quantity CellWriter::as_id(const Quantity& x) {
  return apply("to_i32", {x}, {}, x.shape, {}, DType::kI32);
}

Quantity CellWriter::look_up(const KnownTensor& table, const Quantity& ids) {
  constexpr std::int64_t kMaxLookUps = 256;  // each is an operator
  const std::int64_t count = elements(ids.shape);
  if (!is_id(ids) || count < 1 || count > kMaxLookUps || table->shape.size() != 2)
    refuse("looks up no row of a table of two axes, or too many");
  if (table->shape[0] > kMostExact)  // ids that were moved before went as f32
    refuse("looks up in a table of more than " + std::to_string(kMostExact) + " rows");
  const std::int64_t width = table->shape[1];
  const Quantity all = reshape(ids, {count});
  std::vector<Quantity> rows;
  for (std::int64_t at = 0; at < count; ++at) {
    const Quantity id = reshape(slice(all, 0, at, at + 1), {});
    rows.push_back(reshape(apply("embed", {id}, {}, {width}, {table}), {1, width}));
  }
  Shape shape = ids.shape;
  shape.push_back(width);
  return reshape(concat(rows, 0), shape);
}

Quantity CellWriter::transpose(const Quantity& x, const std::vector<std::int64_t>& axes) {
  if (is_id(x)) return as_id(transpose(as_f32(x), axes));
  if (axes.size() != x.rank()) refuse("its axes are not those of " + to_string(x.shape));
  Shape shape;
  std::vector<std::int64_t> long_axes;  // others can stand anywhere
  std::vector<bool> taken(x.rank(), false);
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.rank()) || taken[static_cast<std::size_t>(axis)])
      refuse("its axes are not those of " + to_string(x.shape));
    taken[static_cast<std::size_t>(axis)] = true;
    shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    if (shape.back() != 1) long_axes.push_back(axis);
  }
  if (std::is_sorted(long_axes.begin(), long_axes.end())) return reshape(x, shape);
  if (!x.is_known()) return apply("transpose", {x}, {.integers = axes}, shape);
  const Strides from = strides_of(x.shape);
  Strides strides{};
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    strides[axis] = from[static_cast<std::size_t>(axes[axis])];
  auto made = std::make_shared<Constant>(Constant{.type = x.known->type, .shape = shape});
  if (checked_numbers(shape) == 0) return known(std::move(made));
  const bool real = x.known->is_real();
  if (real) made->reals.reserve(x.known->size());
  if (!real) made->integers.reserve(x.known->size());
  for (Walk at(shape); !at.done(); at.next()) {
    const auto place = static_cast<std::size_t>(at.offset(strides));
    if (real) made->reals.push_back(x.known->reals[place]);
    if (!real) made->integers.push_back(x.known->integers[place]);
  }
  return known(std::move(made));
}

// Of something that was put together along this or another axis: that part itself. Nothing: no such part.
Quantity CellWriter::part_of_concat(const Quantity& x, std::size_t axis, std::int64_t begin,
                                    std::int64_t end) {
  if (depth_ >= kMaxDepth || !is_made_by(x, "concat_axis")) return {};
  const Deeper deeper(depth_);
  const Operator& made = producer(x);
  const auto along = static_cast<std::size_t>(made.attributes.integers[0]);
  const std::vector<ValueId> parts = made.inputs;
  if (along == axis) {
    std::int64_t first = 0;
    for (const ValueId id : parts) {
      const Quantity part = value_of(id);
      const std::int64_t last = first + part.shape[axis];
      if (begin >= first && end <= last) return slice(part, axis, begin - first, end - first);
      first = last;
    }
    return {};
  }
  const auto is_concat = [&](ValueId id) {
    const Quantity part = value_of(id);
    return is_made_by(part, "concat_axis") &&
           static_cast<std::size_t>(producer(part).attributes.integers[0]) == axis;
  };
  if (!std::all_of(parts.begin(), parts.end(), is_concat)) return {};
  std::vector<Quantity> sliced;
  for (const ValueId id : parts) sliced.push_back(slice(value_of(id), axis, begin, end));
  return concat(sliced, along);
}

Quantity CellWriter::slice(const Quantity& x, std::size_t axis, std::int64_t begin, std::int64_t end,
                           std::int64_t step) {
  if (axis >= x.rank()) refuse("has no axis " + std::to_string(axis));
  if (step == 1 && begin == 0 && end == x.shape[axis]) return x;
  if (is_id(x)) return as_id(slice(as_f32(x), axis, begin, end, step));
  // One beyond the axis takes no second element, however far it goes; further it might run over.
  const std::int64_t beyond = x.shape[axis] + 1;
  step = std::clamp(step, -beyond, beyond);
  Shape shape = x.shape;
  if (x.is_known()) {
    std::vector<std::int64_t> kept;
    for (std::int64_t at = begin; step > 0 ? at < end : at > end; at += step) kept.push_back(at);
    const bool inside =
        std::all_of(kept.begin(), kept.end(), [&](std::int64_t at) { return at >= 0 && at < x.shape[axis]; });
    if (!inside) refuse("reads beyond an axis of " + std::to_string(x.shape[axis]));
    shape[axis] = static_cast<std::int64_t>(kept.size());
    return known(picked(*x.known, shape, sliced_places(x.shape, axis, kept)));
  }
  if (step < 0) return backwards(x, axis, begin, end, step);
  if (step < 1 || begin < 0 || begin >= end || end > x.shape[axis])
    refuse("elements " + std::to_string(begin) + " to " + std::to_string(end) + " by " +
           std::to_string(step) + " of an axis of " + std::to_string(x.shape[axis]) +
           ": only parts in ascending order, and not empty ones");
  if (step == 1) {
    if (const Quantity part = part_of_concat(x, axis, begin, end); part.id != kNoValue) return part;
  }
  shape[axis] = (end - begin - 1) / step + 1;
  if (step == 1 && leads(x.shape, axis)) {
    const std::int64_t inner = elements(x.shape) / x.shape[axis];
    Operator op{.def = &kSliceOp, .inputs = {flat(x).id}, .begin = begin * inner, .end = end * inner};
    return reshape(emit(std::move(op), {(end - begin) * inner}), shape);
  }
  const auto named = static_cast<std::int64_t>(axis);
  return apply("slice_axis", {x}, {.integers = {named, begin, end, step}}, shape);
}

// Element by element, put together in the other order.
Quantity CellWriter::backwards(const Quantity& x, std::size_t axis, std::int64_t begin, std::int64_t end,
                               std::int64_t step) {
  std::vector<Quantity> parts;
  for (std::int64_t at = begin; at > end; at += step) {
    if (parts.size() == kMaxBackwards) refuse("goes backwards over too many elements");
    parts.push_back(slice(x, axis, at, at + 1));
  }
  if (parts.empty()) refuse("takes no elements");
  return concat(parts, axis);
}

Quantity CellWriter::concat(const std::vector<Quantity>& all, std::size_t axis) {
  std::vector<Quantity> parts;
  for (const Quantity& part : all) {
    if (axis >= part.rank()) refuse("has no axis " + std::to_string(axis));
    if (part.shape[axis] > 0) parts.push_back(part);
  }
  if (parts.empty()) return all.empty() ? (refuse("nothing to put together"), Quantity{}) : all.front();
  if (parts.size() == 1) return parts.front();
  if (std::all_of(parts.begin(), parts.end(), is_id)) {
    for (Quantity& part : parts) part = as_f32(part);
    return as_id(concat(parts, axis));
  }
  Shape shape = parts.front().shape;
  shape[axis] = 0;
  bool all_known = true, integers = true;
  for (const Quantity& part : parts) {
    Shape others = part.shape;
    others[axis] = shape[axis];
    if (part.rank() != shape.size() || others != shape)
      refuse("its inputs have the shapes " + to_string(parts.front().shape) + " and " +
             to_string(part.shape));
    shape[axis] += part.shape[axis];
    all_known = all_known && part.is_known();
    integers = integers && part.is_known() && !part.known->is_real();
  }
  if (!all_known) checked_elements(shape);
  checked_numbers(shape);
  if (!all_known) return apply("concat_axis", parts, {.integers = {static_cast<std::int64_t>(axis)}}, shape);
  Constant made{.type = integers ? Constant::Type::kInteger : Constant::Type::kReal, .shape = shape};
  std::size_t outer = 1;
  for (std::size_t before = 0; before < axis; ++before) outer *= static_cast<std::size_t>(shape[before]);
  std::vector<KnownTensor> tensors;
  for (const Quantity& part : parts) tensors.push_back(integers ? part.known : as_real(part.known));
  for (std::size_t o = 0; o < outer; ++o) {
    for (const KnownTensor& numbers : tensors) {
      const auto n = static_cast<std::ptrdiff_t>(numbers->size() / outer),
                 at = static_cast<std::ptrdiff_t>(o) * n;
      if (integers) {
        made.integers.insert(made.integers.end(), numbers->integers.begin() + at,
                             numbers->integers.begin() + at + n);
      } else {
        made.reals.insert(made.reals.end(), numbers->reals.begin() + at, numbers->reals.begin() + at + n);
      }
    }
  }
  return known(std::make_shared<Constant>(std::move(made)));
}

Quantity CellWriter::pointwise(std::string_view op, const std::vector<Quantity>& inputs,
                               Attributes attributes) {
  Shape shape = inputs.front().shape;
  for (const Quantity& input : inputs) {
    if (!spread_shape(shape, input.shape, shape))
      refuse("its inputs have the shapes " + to_string(shape) + " and " + to_string(input.shape));
    if (input.dtype != DType::kF32) refuse("computes with whole numbers that are not known beforehand");
  }
  return apply(op, inputs, std::move(attributes), std::move(shape));
}

// Of parts that were put together, each with its columns of the weight: the chain goes over the same numbers
// in the same order, and reads them where they lie.
std::vector<CellWriter::Term> CellWriter::parted(const std::vector<Term>& terms) {
  std::vector<Term> made;
  for (const Term& term : terms) {
    if (!is_made_by(term.x, "concat")) {
      made.push_back(term);
      continue;
    }
    std::int64_t begin = 0;
    for (const ValueId id : producer(term.x).inputs) {
      const Quantity part = value_of(id);
      if (!is_made_by(part, "gather") && !is_made_by(part, "pull") && !is_made_by(part, "embed"))
        return terms;
      const std::int64_t end = begin + part.shape[0];
      made.push_back({slice(known(as_real(term.weight)), 1, begin, end).known, part});
      begin = end;
    }
  }
  return made.size() > kMaxPartedTerms ? terms : made;
}

Quantity CellWriter::product(const std::vector<Term>& whole, const KnownTensor& bias, const Quantity* start) {
  Operator op{.def = &kProductOp};
  const std::vector<Term> terms = parted(whole);
  const std::int64_t width = terms.front().weight->shape[0];
  for (const Term& term : terms) {
    op.inputs.push_back(computed(term.x).id);
    op.weights.push_back(weight(term.weight, term.weight->shape));
  }
  if (bias != nullptr) {
    op.weights.push_back(weight(bias, {width}));
    op.has_bias = true;
  }
  if (start != nullptr) {
    op.inputs.push_back(computed(*start).id);
    op.has_start = true;
  }
  return emit(std::move(op), {width});
}

Quantity CellWriter::convolution(const Quantity& x, const Convolution& shape, const KnownTensor& numbers,
                                 const KnownTensor& bias) {
  Operator op{.def = &kConvolutionOp, .inputs = {computed(x).id}};
  op.weights.push_back(weight(numbers, shape.weight_shape()));
  op.convolution = shape;
  if (bias != nullptr) {
    op.weights.push_back(weight(bias, {shape.kernels}));
    op.has_bias = true;
  }
  return emit(std::move(op), {shape.outputs()});
}

Quantity CellWriter::pool(std::string_view name, const Quantity& x, const Convolution& shape) {
  Operator op{.def = op_named(name), .inputs = {computed(x).id}};
  op.convolution = shape;
  return emit(std::move(op), {shape.channels * shape.positions()});
}

// W·x + U·y is one product of two terms, and a constant beside one is its bias.
Quantity CellWriter::joined(const Quantity& a, const Quantity& b) {
  const auto flat_product = [&](const Quantity& x) -> Quantity {
    if (x.is_known()) return {};
    const Quantity inner = is_made_by(x, "reshape") ? value_of(producer(x).inputs[0]) : x;
    return is_made_by(inner, "product") && !producer(inner).has_start ? inner : Quantity{};
  };
  const Quantity left = flat_product(a);
  if (left.id == kNoValue) return {};
  Operator op = producer(left);
  if (b.is_known()) {
    if (op.has_bias || static_cast<std::int64_t>(b.known->size()) != left.shape[0]) return {};
    op.weights.push_back(weight(as_real(b.known), left.shape));
    op.has_bias = true;
  } else {
    const Quantity right = flat_product(b);
    if (right.id == kNoValue || a.shape != b.shape) return {};
    const Operator& other = producer(right);
    if ((op.has_bias && other.has_bias) ||
        product_term_count(op) + product_term_count(other) > kMaxJoinedTerms)
      return {};
    const std::string bias = op.has_bias ? op.weights.back() : other.has_bias ? other.weights.back() : "";
    if (op.has_bias) op.weights.pop_back();
    op.weights.insert(op.weights.end(), other.weights.begin(),
                      other.weights.begin() + static_cast<std::ptrdiff_t>(product_term_count(other)));
    op.inputs.insert(op.inputs.end(), other.inputs.begin(), other.inputs.end());
    op.has_bias = !bias.empty();
    if (op.has_bias) op.weights.push_back(bias);
  }
  return emit(std::move(op), left.shape);
}

Quantity CellWriter::add(const Quantity& a, const Quantity& b) {
  Shape shape;
  if (!spread_shape(a.shape, b.shape, shape) || checked_elements(shape) == 0) return pointwise("add", {a, b});
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (one->is_known() || elements(shape) != elements(one->shape)) continue;
    if (const Quantity made = joined(*one, *other); made.id != kNoValue) return reshape(made, shape);
  }
  return pointwise("add", {a, b});
}

CellWriter::Written CellWriter::finish() const {
  std::vector<bool> read(cell_.values.size(), false);
  std::vector<bool> kept(cell_.operators.size(), false);
  for (std::size_t i = cell_.operators.size(); i-- > 0;) {
    const Operator& op = cell_.operators[i];
    kept[i] = op.def->sink || read[op.output];
    if (!kept[i]) continue;
    for (const ValueId input : op.inputs) read[input] = true;
  }
  Written written;
  written.cell.states = cell_.states;
  std::vector<ValueId> renamed(cell_.values.size(), kNoValue);
  std::map<std::string_view, bool> used;
  for (std::size_t i = 0; i < cell_.operators.size(); ++i) {
    if (!kept[i]) continue;
    Operator op = cell_.operators[i];
    for (ValueId& input : op.inputs) input = renamed[input];
    if (op.output != kNoValue) {
      renamed[op.output] = static_cast<ValueId>(written.cell.values.size());
      written.cell.values.push_back(cell_.values[op.output]);
      op.output = renamed[op.output];
    }
    for (const std::string& name : cell_.operators[i].weights) used[name] = true;
    written.cell.operators.push_back(std::move(op));
  }
  for (const Weight& weight : weights_->all()) {
    if (used.contains(weight.name)) written.weights.push_back(weight);
  }
  return written;
}

}  // namespace volvox::onnx_import
