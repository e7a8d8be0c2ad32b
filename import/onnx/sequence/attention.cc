#include "import/onnx/sequence/attention.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/sequence/open_length.h"

namespace volvox::onnx_import {
namespace {

using Pairs = Quantity::Pairs;

constexpr const char* kAttends = "multiplies steps of the sequence with each other";

// The axes before the last two, without those of extent 1 that come first.
Shape heads_of(const Shape& shape) {
  const auto first = std::find_if(shape.begin(), shape.end() - 2, [](std::int64_t n) { return n != 1; });
  return {first, shape.end() - 2};
}

// Whether what has such heads is multiplied head by head, or all of one with the only one of the other.
bool heads_fit(const Shape& a, const Shape& b) {
  return heads_of(a) == heads_of(b) || heads_of(a).empty() || heads_of(b).empty();
}

// The axes before the last two of what is multiplied so, and these two.
Shape with_heads(const Shape& a, const Shape& b, std::int64_t rows, std::int64_t columns) {
  const Shape& longer = heads_of(a).size() < heads_of(b).size() ? b : a;
  Shape shape(longer.begin(), longer.end() - 2);
  while (shape.size() + 2 < std::max(a.size(), b.size())) shape.insert(shape.begin(), 1);
  shape.insert(shape.end(), {rows, columns});
  return shape;
}

// `behind`: axes that it has behind those of the steps.
void make_pairs(const StepCall& call, Quantity made, Pairs what = Pairs::kNumbers, std::size_t behind = 0) {
  if (made.rank() < 2) made = call.node.writer.reshape(made, {1, 1});
  made.pairs = what;
  const std::size_t axis = made.rank() - 2 - behind;
  call.make(std::move(made), axis);
}

bool ends_with_steps(const Quantity& x) {
  return *x.steps + 2 == x.rank();
}

// Input i as a number of a pair: the last axis may be that of the asked steps, the one before of those that
// ask.
Quantity of_pair(const StepCall& call, std::size_t i) {
  if (has_open(call.in(i))) return call.node.writer.as_id(call.length(call.in(i)));
  Quantity x = call.in(i);
  if (x.pairs == Pairs::kShares)
    refuse(std::string(kAttends) + ", and does something else with their shares than weighing");
  if (x.missing > 0) refuse("attends to what was made shorter");
  if (x.pairs != Pairs::kNone && !ends_with_steps(x))
    refuse("combines numbers of pairs of steps that have other axes behind those");
  const std::optional<std::size_t> steps = std::exchange(x.steps, std::nullopt);
  const std::size_t from_last = x.pairs != Pairs::kNone || !steps ? 0 : x.rank() - *steps;
  x.pairs = Pairs::kNone;
  for (std::size_t axis = 1; axis <= std::min<std::size_t>(x.rank(), 2); ++axis) {
    if (x.shape[x.rank() - axis] != 1)
      refuse("has " + std::to_string(x.shape[x.rank() - axis]) +
             " numbers along the sequence, whose length may be any");
  }
  if (from_last > 2) refuse("puts steps of the sequence together with pairs of them");
  return from_last == 1 ? call.lanes.pairs().other(x) : x;
}

// A factor of products is one of the row that asks.
bool scale(StepCall& call) {
  const std::string& op = call.node.node.op;
  if (op != "Mul" && op != "Div") return false;
  const std::size_t factor = call.in(0).pairs == Pairs::kNone ? 0 : 1;
  if (call.in(1 - factor).pairs != Pairs::kNumbers || has_open(call.in(factor)) ||
      !call.in(factor).is_known() || call.in(factor).known->size() != 1 || (op == "Div" && factor == 0))
    return false;
  const PairLeaves::Leaf* product = call.lanes.pairs().find(call.in(1 - factor));
  if (product == nullptr || !product->row) return false;
  CellWriter& w = call.node.writer;
  const Quantity number = w.reshape(call.in(factor), {});
  const Quantity row = w.pointwise(op == "Div" ? "div" : "mul", {*product->row, number});
  Shape shape = call.in(1 - factor).shape;
  while (shape.size() < call.in(factor).rank()) shape.insert(shape.begin(), 1);
  make_pairs(call, w.reshape(call.lanes.pairs().product(row, product->x), shape));
  return true;
}

// Makes reals of whole numbers that are added, multiplied or chosen, which hold those of steps exactly.
// False: they are none, or the operator is another.
bool as_reals(CellWriter& w, std::vector<std::optional<Quantity>>& inputs, const std::string& op) {
  constexpr std::string_view kOps[] = {"Add", "Sub", "Mul",   "Neg",  "Abs",
                                       "Min", "Max", "Where", "Clip", "Sign"};
  const auto is_whole = [](const std::optional<Quantity>& x) {
    return !x || (x->is_known() ? !x->known->is_real() : x->dtype == DType::kI32);
  };
  const auto first = inputs.begin() + (op == "Where" ? 1 : 0);  // behind the condition
  if (std::find(std::begin(kOps), std::end(kOps), op) == std::end(kOps) ||
      !std::all_of(first, inputs.end(), is_whole))
    return false;
  for (auto x = first; x != inputs.end(); ++x)
    if (*x) *x = reals_of(w, **x);
  return true;
}

}  // namespace

void note_weighing(const StepCall& call, Quantity& made) {
  for (const std::size_t shares : {0U, 1U}) {
    const Quantity& other = call.in(1 - shares);
    const auto& weighing = call.in(shares).weighing;
    if (weighing == nullptr || weighing->values || !other.steps || other.is_known() ||
        other.dtype != DType::kF32)
      continue;
    Weighing all = *weighing;
    all.values = other;
    all.values->steps.reset();
    made.weighing = std::make_shared<const Weighing>(std::move(all));
    return;
  }
}

void multiply_pairs(StepCall& call) {
  call.want_one_row(0);
  call.want_one_row(1);
  Quantity row = call.in(0), rows = call.in(1);
  row.steps.reset();
  rows.steps.reset();
  const std::size_t rank = row.rank();
  if (!heads_fit(row.shape, rows.shape) || row.shape[rank - 1] != rows.shape[rows.rank() - 2])
    refuse("multiplies steps of the sequence with each other that do not fit");
  if (row.is_known() || rows.is_known()) refuse("attends to what is the same at every step");
  call.use.as_steps = call.use.anew = true;
  const Quantity made = call.lanes.pairs().product(row, rows);
  make_pairs(call, call.node.writer.reshape(made, with_heads(row.shape, rows.shape, 1, 1)));
}

bool is_of_pairs(const StepCall& call) {
  if (call.has_pairs()) return true;
  bool rows = false, columns = false, others = false;
  for (std::size_t i = 0; i < call.node.inputs(); ++i) {
    if (!call.node.has(i) || !call.steps(i)) continue;
    const std::size_t from_last = call.in(i).rank() - *call.steps(i);
    (from_last == 1 ? columns : from_last == 2 ? rows : others) = true;
  }
  return rows && columns && !others;
}

void combine_pairs(StepCall& call) {
  const bool passes = call.node.node.op == "Identity" || call.node.node.op == "Dropout";
  if (passes) return make_pairs(call, call.in(0), call.in(0).pairs);
  if (scale(call)) return;
  std::vector<std::optional<Quantity>> inputs;
  for (std::size_t i = 0; i < call.node.inputs(); ++i)
    inputs.push_back(call.node.has(i) ? std::optional(of_pair(call, i)) : std::nullopt);
  call.use.as_steps = true;
  CellWriter& w = call.node.writer;
  const bool whole = as_reals(w, inputs, call.node.node.op);
  const Quantity made = call.by_rule(std::move(inputs)).at(0);
  make_pairs(call, whole ? w.as_id(made) : made);
}

void reshape_pairs(StepCall& call, const Shape& shape) {
  const Quantity& x = call.in(0);
  if (!ends_with_steps(x) || shape.size() < 2 || shape[shape.size() - 1] != 1 ||
      shape[shape.size() - 2] != 1 || elements(shape) != elements(x.shape))
    refuse(std::string(kAttends) + ", and mixes those with others: " + to_string(x.shape) + " becomes " +
           to_string(shape));
  make_pairs(call, call.node.writer.reshape(x, shape), x.pairs);
}

void fill_pairs(StepCall& call, std::size_t input, const Shape& shape) {
  std::vector<std::optional<Quantity>> inputs;
  if (input > 0) inputs.emplace_back(of_pair(call, 0));
  CellWriter& w = call.node.writer;
  const bool whole = input > 0 && !inputs[0]->is_known() && inputs[0]->dtype == DType::kI32;
  if (whole) inputs[0] = w.as_f32(*inputs[0]);
  inputs.emplace_back(known_integers({static_cast<std::int64_t>(shape.size())}, shape));
  call.use.as_steps = true;
  const Quantity made = call.by_rule(std::move(inputs)).at(0);
  make_pairs(call, whole ? w.as_id(made) : made);
}

// One of the heads, or some: parts along an axis before those of the steps.
void pick_heads(StepCall& call) {
  Quantity x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", 0), x.rank());
  if (x.pairs != Pairs::kNumbers || !ends_with_steps(x) || call.steps(1) || axis >= *x.steps)
    refuse(std::string(kAttends) + ", and picks some of that");
  x.steps.reset();
  make_pairs(call, call.by_rule({x, call.in(1)}).at(0));
}

void look_up_pairs(StepCall& call) {
  if (call.steps(0)) return pick_heads(call);
  const Quantity table = call.in(0);
  Quantity places = call.in(1);
  const std::size_t steps = *std::exchange(places.steps, std::nullopt);
  if (places.pairs != Pairs::kNumbers || steps + 2 != places.rank() || call.steps(0) || !table.is_known() ||
      table.rank() == 0 || NodeCall::axis(call.node.integer("axis", 0), table.rank()) != 0)
    refuse(std::string(kAttends) + ", and looks up something else with that than rows of a table");
  call.use.as_steps = true;
  CellWriter& w = call.node.writer;
  const Quantity rows = reals_of(w, table);
  Shape shape = places.shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  checked_elements(shape);
  if (places.is_known() || places.dtype != DType::kI32) refuse("looks up what is no id");
  // Those below 0 count from the end.
  const Quantity zero = known_reals({}, {0}), count = known_reals({}, {static_cast<float>(table.shape[0])});
  const Quantity place = w.as_f32(places);
  const Quantity from_end = w.pointwise("select", {w.pointwise("less", {place, zero}), count, zero});
  const Quantity ids = w.as_id(w.add(place, from_end));
  make_pairs(call, w.apply("take", {rows, ids}, {.integers = {0}}, std::move(shape)), Pairs::kNumbers,
             table.rank() - 1);
}

void transpose_pairs(StepCall& call) {
  Quantity x = call.in(0);
  const std::size_t steps = *std::exchange(x.steps, std::nullopt), rank = x.rank();
  const auto order = call.node.integers("perm");
  const auto place_of = [&](std::size_t axis) {
    return std::find(order.begin(), order.end(), static_cast<std::int64_t>(axis)) - order.begin();
  };
  const auto place = static_cast<std::size_t>(place_of(steps));
  if (x.pairs != Pairs::kNumbers || order.size() != rank || place + 2 > rank ||
      static_cast<std::size_t>(place_of(steps + 1)) != place + 1)
    refuse(std::string(kAttends) + ", and turns those around");
  make_pairs(call, call.by_rule({x}).at(0), Pairs::kNumbers, rank - 2 - place);
}

void share_pairs(StepCall& call) {
  const Quantity& x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", call.node.opset < 13 ? 1 : -1), x.rank());
  if (call.node.node.op != "Softmax" || x.pairs == Pairs::kShares || !ends_with_steps(x) ||
      axis + 1 != x.rank())
    refuse(std::string(kAttends) + ", and goes over them otherwise than by a softmax along the last axis");
  if (x.is_known()) refuse("attends to what is the same at every step");
  make_pairs(call, x, Pairs::kShares);
}

void answer_pairs(StepCall& call) {
  const Quantity& scores = call.in(0);
  if (scores.pairs != Pairs::kShares || !call.steps(1) || call.in(1).pairs != Pairs::kNone)
    refuse(std::string(kAttends) + ", without a softmax of them");
  call.want_one_row(1);
  Quantity values = call.in(1);
  values.steps.reset();
  if (values.rank() - *call.steps(1) != 2 || !heads_fit(scores.shape, values.shape))
    refuse(std::string(kAttends) + ", and weighs others by that");
  if (values.is_known()) refuse("attends to what is the same at every step");
  const Quantity made = call.lanes.attended(scores, values);
  const Shape shape = with_heads(scores.shape, values.shape, 1, values.shape.back());
  call.make(call.node.writer.reshape(made, shape), shape.size() - 2);
}

void pick_pairs(StepCall& call) {
  CellWriter& w = call.node.writer;
  call.want_one_row(0);
  Quantity x = call.in(0);
  x.steps.reset();
  if (x.dtype != DType::kF32 || x.is_known()) refuse("takes numbers of pairs of steps of what is no table");
  const Quantity other = call.lanes.pairs().other(call.lanes.number_of_step(x.shape.back()));
  Shape shape = x.shape;
  shape.pop_back();
  const auto axis = static_cast<std::int64_t>(shape.size());
  const Quantity picked = w.apply("take", {x, w.reshape(other, {})}, {.integers = {axis}}, shape);
  shape.push_back(1);
  call.use.as_steps = true;
  make_pairs(call, w.reshape(picked, shape));
}

}  // namespace volvox::onnx_import
