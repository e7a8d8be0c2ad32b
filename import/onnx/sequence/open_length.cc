#include "import/onnx/sequence/open_length.h"

#include <algorithm>
#include <string_view>

#include "import/onnx/known.h"

namespace volvox::onnx_import {
namespace {

constexpr std::int64_t kOpen = std::int64_t{1} << 40;
constexpr std::int64_t kApart = std::int64_t{1}
                                << 22;  // lengths of sequences with other numbers of rows a step
constexpr std::int64_t kNear = std::int64_t{1} << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 16;
constexpr std::int64_t kMostOrdinary = std::int64_t{1} << 31;
bool stands_for_something(std::int64_t number) {
  return is_open(number) || (number > kRound - kNear && number < kRound + kNear);
}

// Of what stands for something: the rows of a step, or 0 of a round.
std::int64_t kind_of(std::int64_t number) {
  return is_open(number) ? rows_of_open(number) : 0;
}

// Whether each number that was made of one that stands for something is of the same kind; or what is left of
// two of them when one is taken from the other.
bool keeps_meaning(std::string_view op, const Constant& a, const Constant& b, const Constant& made) {
  const auto number = [](const Constant& x, std::size_t i) {
    return x.integers.size() == 1 ? x.integers[0] : x.integers[i];
  };
  for (const Constant* x : {&a, &b}) {
    if (x->integers.size() != 1 && x->shape != made.shape) return false;
  }
  for (std::size_t i = 0; i < made.integers.size(); ++i) {
    const std::int64_t left = number(a, i), right = number(b, i), result = made.integers[i];
    const bool of_left = stands_for_something(left), of_right = stands_for_something(right);
    if (!of_left && !of_right) continue;
    if (of_left && of_right && (op != "Sub" || kind_of(left) != kind_of(right))) return false;
    const bool same_kind = stands_for_something(result) && kind_of(result) == kind_of(of_left ? left : right);
    if (of_left != of_right && !same_kind) return false;
  }
  return true;
}

// A length is 1 at least.
bool may_be_equal(const Constant& a, const Constant& b, const Shape& shape) {
  const auto left = spread_places(a.shape, shape), right = spread_places(b.shape, shape);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::int64_t x = a.integers[static_cast<std::size_t>(left[i])],
                       y = b.integers[static_cast<std::size_t>(right[i])];
    if (x == y || (!stands_for_something(x) && !stands_for_something(y))) continue;
    const std::int64_t open = is_open(x) ? x : y, other = is_open(x) ? y : x;
    if (!is_open(open) || other > from_the_end(open)) return true;
  }
  return false;
}

// Which of its numbers it takes hangs on the length.
bool picks_by_length(const NodeCall& call) {
  const std::string_view op = call.node.op;
  if (op == "Where") return has_open(call.in(0));
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    if (call.has(i) && has_open(call.in(i))) return true;
  }
  return false;
}

// Of one that has the length as a factor: the others are 1.
bool is_length(const Constant& factors, const Constant& made) {
  return std::find(factors.integers.begin(), factors.integers.end(), made.integers.at(0)) !=
         factors.integers.end();
}

constexpr std::string_view kAllowed[] = {
    "Identity", "Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Reshape",
    "Cast",     "Add",    "Sub",   "Mul",    "Div",     "Split",     "Transpose",
    "Flatten",  "TopK",   "Shape", "Size",   "Equal",   "Where",     "ReduceProd"};

}  // namespace

std::int64_t open_length(std::int64_t rows) {
  if (rows < 1 || rows > kMostRows) refuse("has the length of a sequence of too many rows a step");
  return kOpen + rows * kApart;
}

std::int64_t rows_of_open(std::int64_t number) {
  return (number - kOpen + kApart / 2) / kApart;
}

bool is_open(std::int64_t number) {
  if (number < kOpen || number > kOpen + (kMostRows + 1) * kApart) return false;
  const std::int64_t rows = rows_of_open(number);
  return rows >= 1 && rows <= kMostRows && number > kOpen + rows * kApart - kNear &&
         number < kOpen + rows * kApart + kNear;
}

std::int64_t from_the_end(std::int64_t number) {
  return number - open_length(rows_of_open(number));
}

bool has_open(const Quantity& x) {
  return x.is_known() && !x.known->is_real() &&
         std::any_of(x.known->integers.begin(), x.known->integers.end(), stands_for_something);
}

void compute_with_length(NodeCall& call) {
  const auto* allowed = std::find(std::begin(kAllowed), std::end(kAllowed), call.node.op);
  if (allowed == std::end(kAllowed))
    refuse("depends on the length of the sequence, which may be any, or on the number of a step");
  const std::string_view op = call.node.op;
  const bool combines = op == "Add" || op == "Sub" || op == "Mul" || op == "Div";
  const bool compares = op == "Equal";
  if ((!combines && !compares && op != "Concat" && picks_by_length(call)) ||
      (op == "Cast" && call.integer("to", 0) == kBool))
    refuse_length();
  find_rule(call.node.op)->write(call);
  for (const Quantity& made : call.outputs) {
    const auto means_something = [](std::int64_t number) {
      return stands_for_something(number) || (number > -kMostOrdinary && number < kMostOrdinary);
    };
    const bool fine = made.is_known() && !made.known->is_real() &&
                      std::all_of(made.known->integers.begin(), made.known->integers.end(), means_something);
    if (!fine || (combines && !keeps_meaning(op, *call.in(0).known, *call.in(1).known, *made.known)) ||
        (compares && may_be_equal(*call.in(0).known, *call.in(1).known, made.shape)) ||
        (op == "ReduceProd" && !is_length(*call.in(0).known, *made.known)))
      refuse_length();
  }
}

}  // namespace volvox::onnx_import
