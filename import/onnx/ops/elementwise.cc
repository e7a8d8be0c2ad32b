#include <algorithm>
#include <cmath>
#include <limits>

#include "cells/ir/inference.h"
#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

bool both_integers(const Quantity& a, const Quantity& b) {
  return a.is_known() && b.is_known() && !a.known->is_real() && !b.known->is_real();
}

std::int64_t wrapped(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}
std::uint64_t bits(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

using Integers = std::int64_t (*)(std::int64_t, std::int64_t);

// Whole numbers are combined at once, reals by the cell.
Quantity combined(NodeCall& call, const Quantity& a, const Quantity& b, Integers combine,
                  std::string_view op) {
  return both_integers(a, b) ? integers_of(a, b, combine) : call.writer.pointwise(op, {a, b});
}
void arithmetic(NodeCall& call, Integers combine, std::string_view op) {
  call.outputs = {combined(call, call.in(0), call.in(1), combine, op)};
}
// Of any number of inputs.
void extreme(NodeCall& call, Integers combine, std::string_view op) {
  Quantity made = call.in(0);
  for (std::size_t i = 1; i < call.inputs(); ++i) made = combined(call, made, call.in(i), combine, op);
  call.outputs = {made};
}

void add(NodeCall& call) {
  if (!both_integers(call.in(0), call.in(1))) {
    call.outputs = {call.writer.add(call.in(0), call.in(1))};
    return;
  }
  arithmetic(
      call, +[](std::int64_t a, std::int64_t b) { return wrapped(bits(a) + bits(b)); }, "add");
}
void sub(NodeCall& call) {
  arithmetic(
      call, +[](std::int64_t a, std::int64_t b) { return wrapped(bits(a) - bits(b)); }, "sub");
}
void mul(NodeCall& call) {
  arithmetic(
      call, +[](std::int64_t a, std::int64_t b) { return wrapped(bits(a) * bits(b)); }, "mul");
}
void divide(NodeCall& call) {
  const auto combine = +[](std::int64_t a, std::int64_t b) {
    if (b == 0) refuse("divides by 0");
    return b == -1 ? wrapped(0 - bits(a)) : a / b;
  };
  arithmetic(call, combine, "div");
}
void least(NodeCall& call) {
  extreme(
      call, +[](std::int64_t a, std::int64_t b) { return std::min(a, b); }, "min");
}
void most(NodeCall& call) {
  extreme(
      call, +[](std::int64_t a, std::int64_t b) { return std::max(a, b); }, "max");
}
// Whole numbers that the model is given are compared as reals, which ids are exactly.
void compare(NodeCall& call, Integers combine, std::string_view op) {
  CellWriter& w = call.writer;
  const Quantity &a = call.in(0), &b = call.in(1);
  call.outputs = {both_integers(a, b) ? integers_of(a, b, combine)
                                      : w.pointwise(op, {w.as_f32(a), w.as_f32(b)})};
}
void equal(NodeCall& call) {
  compare(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a == b; }, "equal");
}
void less(NodeCall& call) {
  compare(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a < b; }, "less");
}
void greater(NodeCall& call) {
  compare(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a > b; }, "greater");
}
void less_equal(NodeCall& call) {
  compare(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a <= b; }, "less_equal");
}
void greater_equal(NodeCall& call) {
  compare(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a >= b; }, "greater_equal");
}
// Truths of the cell are 0 and 1.
void logical_and(NodeCall& call) {
  arithmetic(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 && b != 0; }, "mul");
}
void logical_or(NodeCall& call) {
  arithmetic(
      call, +[](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 || b != 0; }, "max");
}
void logical_not(NodeCall& call) {
  const Quantity zero = call.in(0).is_known() ? known_integers({}, {0}) : known_reals({}, {0});
  if (call.in(0).is_known()) {
    call.outputs = {integers_of(
        call.in(0), zero, +[](std::int64_t a, std::int64_t) -> std::int64_t { return a == 0; })};
  } else {
    call.outputs = {call.writer.pointwise("equal", {call.in(0), zero})};
  }
}

void absolute(NodeCall& call) {
  call.outputs = {call.writer.pointwise("abs", {call.in(0)})};
  keep_whole(call);
}

template <const char* const& op>
void same(NodeCall& call) {
  call.outputs = {call.writer.pointwise(op, {call.in(0)})};
}
constexpr const char* kExp = "exp";
constexpr const char* kLog = "log";
constexpr const char* kSqrt = "sqrt";
constexpr const char* kSin = "sin";
constexpr const char* kCos = "cos";
constexpr const char* kRelu = "relu";
constexpr const char* kSigmoid = "sigmoid";
constexpr const char* kTanh = "tanh";
constexpr const char* kErf = "erf";
constexpr const char* kSoftplus = "softplus";

void negate(NodeCall& call) {
  if (call.in(0).is_known() && !call.in(0).known->is_real()) {
    call.outputs = {integers_of(
        known_integers({}, {0}), call.in(0),
        +[](std::int64_t a, std::int64_t b) { return wrapped(bits(a) - bits(b)); })};
  } else {
    call.outputs = {call.writer.pointwise("neg", {call.in(0)})};
  }
}
void reciprocal(NodeCall& call) {
  call.outputs = {call.writer.pointwise("div", {known_reals({}, {1}), call.in(0)})};
}
void leaky_relu(NodeCall& call) {
  call.outputs = {call.writer.pointwise("leaky_relu", {call.in(0)}, {.reals = {call.real("alpha", 0.01F)}})};
}
void elu(NodeCall& call) {
  call.outputs = {call.writer.pointwise("elu", {call.in(0)}, {.reals = {call.real("alpha", 1)}})};
}
void gelu(NodeCall& call) {
  if (call.text("approximate", "none") != "none") refuse("the approximation by tanh is not there");
  call.outputs = {call.writer.pointwise("gelu", {call.in(0)})};
}
void hard_sigmoid(NodeCall& call) {
  CellWriter& w = call.writer;
  const Quantity slope = known_reals({}, {call.real("alpha", 0.2F)});
  const Quantity line = w.add(w.mul(call.in(0), slope), known_reals({}, {call.real("beta", 0.5F)}));
  call.outputs = {w.pointwise("clamp", {line}, {.reals = {0, 1}})};
}

void clip(NodeCall& call) {
  const auto bound = [&](std::string_view attribute, std::size_t input, float otherwise) -> double {
    if (!call.has(input)) return call.real(attribute, otherwise);
    return call.number_in(input);
  };
  constexpr float kMost = std::numeric_limits<float>::infinity();
  const double most = bound("max", 2, kMost), least = std::min(bound("min", 1, -kMost), most);
  call.outputs = {call.writer.pointwise("clamp", {call.in(0)}, {.reals = {least, most}})};
  keep_whole(call);
}

void power(NodeCall& call) {
  const float exponent = call.number_in(1);
  const Quantity& x = call.in(0);
  // Beyond, the cell goes by the logarithm, which numbers below 0 have none of.
  constexpr float kMostFactors = 64;
  if (std::abs(exponent) > kMostFactors && exponent == std::floor(exponent))
    refuse("raises to the " + std::to_string(exponent) + "th power; 64 at most");
  if (exponent == 2) {
    call.outputs = {call.writer.mul(x, x)};
  } else {
    call.outputs = {call.writer.pointwise("pow", {x}, {.reals = {exponent}})};
  }
  keep_whole(call);
}

void where(NodeCall& call) {
  const Quantity &condition = call.in(0), &a = call.in(1), &b = call.in(2);
  Shape both, all;
  const bool fits = spread_shape(a.shape, b.shape, both) && spread_shape(condition.shape, both, all);
  if (fits && condition.is_known() && condition.known->size() == 1) {
    const Quantity& chosen = as_integer(condition.known)->integers[0] != 0 ? a : b;
    if (chosen.shape == all) {
      call.outputs = {chosen};
      return;
    }
  }
  const bool numbers = a.is_known() && b.is_known() && !a.known->is_real();
  if (numbers && !condition.is_known())
    refuse("chooses among whole numbers by what is not known beforehand; what is computed is f32");
  if (!numbers) {
    call.outputs = {call.writer.pointwise("select", {condition, a, b})};
    return;
  }
  const auto keep = +[](std::int64_t x, std::int64_t y) { return x != 0 ? y : 0; };
  const auto drop = +[](std::int64_t x, std::int64_t y) { return x != 0 ? 0 : y; };
  call.outputs = {integers_of(
      integers_of(condition, a, keep), integers_of(condition, b, drop),
      +[](std::int64_t x, std::int64_t y) { return wrapped(bits(x) + bits(y)); })};
}

void whole(NodeCall& call) {
  const Quantity& x = call.in(0);
  CellWriter& w = call.writer;
  if (x.is_known() && !x.known->is_real()) {
    call.outputs = {x};
  } else if (call.node.op == "Floor") {
    call.outputs = {w.pointwise("floor", {x})};
  } else {
    call.outputs = {w.pointwise("neg", {w.pointwise("floor", {w.pointwise("neg", {x})})})};
  }
}

constexpr OpRule kRules[] = {
    {"Add", add},
    {"Sub", sub},
    {"Mul", mul},
    {"Div", divide},
    {"Min", least},
    {"Max", most},
    {"Equal", equal},
    {"Less", less},
    {"Greater", greater},
    {"LessOrEqual", less_equal},
    {"GreaterOrEqual", greater_equal},
    {"And", logical_and},
    {"Or", logical_or},
    {"Not", logical_not},
    {"Abs", absolute},
    {"Exp", same<kExp>},
    {"Log", same<kLog>},
    {"Sqrt", same<kSqrt>},
    {"Relu", same<kRelu>},
    {"Sigmoid", same<kSigmoid>},
    {"Tanh", same<kTanh>},
    {"Erf", same<kErf>},
    {"Softplus", same<kSoftplus>},
    {"Neg", negate},
    {"Reciprocal", reciprocal},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Gelu", gelu, "the exact form"},
    {"HardSigmoid", hard_sigmoid},
    {"Clip", clip, "known bounds"},
    {"Pow", power, "one known exponent, a whole one up to 64"},
    {"Where", where},
    {"Floor", whole},
    {"Ceil", whole},
    {"Sin", same<kSin>},
    {"Cos", same<kCos>},
};

}  // namespace

extern const std::span<const OpRule> kElementwiseRules;
const std::span<const OpRule> kElementwiseRules = kRules;

}  // namespace volvox::onnx_import
