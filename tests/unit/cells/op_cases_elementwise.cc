#include <algorithm>
#include <cmath>

#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

OpCase one(const std::string& op, double (*f)(double), Operand x = {{7}}, const Attributes& attributes = {}) {
  return {op, {x}, applied(op, attributes), [f](const Rows& in) {
            Numbers out;
            for (const double v : in[0]) out.push_back(f(v));
            return out;
          }};
}

// The element of x, of shape `from`, that belongs to element `k` of shape `to`.
double repeated(const Numbers& x, const Shape& from, const Shape& to, std::size_t k) {
  std::size_t at = 0, step = 1;
  for (std::size_t axis = to.size(); axis-- > 0;) {
    const std::size_t index = k % static_cast<std::size_t>(to[axis]);
    k /= static_cast<std::size_t>(to[axis]);
    const std::size_t missing = to.size() - from.size();
    if (axis < missing) continue;
    const auto extent = static_cast<std::size_t>(from[axis - missing]);
    at += index % extent * step;
    step *= extent;
  }
  return x[at];
}

OpCase two(const std::string& op, double (*f)(double, double), Operand a, Operand b, const Shape& shape) {
  return {op, {a, b}, applied(op), [=](const Rows& in) {
            Numbers out;
            for (std::size_t k = 0; k < static_cast<std::size_t>(elements(shape)); ++k)
              out.push_back(f(repeated(in[0], a.shape, shape, k), repeated(in[1], b.shape, shape, k)));
            return out;
          }};
}

void add_two(std::vector<OpCase>& cases, const std::string& op, double (*f)(double, double),
             const Operand& like = {}) {
  const auto of = [&](Shape shape, bool ragged = false) {
    Operand operand = like;
    operand.shape = std::move(shape);
    operand.ragged = ragged;
    return operand;
  };
  cases.push_back(two(op, f, of({19}), of({19}), {19}));
  cases.push_back(two(op, f, of({5}, true), of({5}), {5}));
  cases.push_back(two(op, f, of({3, 4}), of({4}), {3, 4}));
  cases.push_back(two(op, f, of({}), of({2, 3}, true), {2, 3}));
  cases.push_back(two(op, f, of({2, 1, 3}), of({4, 1}), {2, 4, 3}));
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}
double as_number(bool yes) {
  return yes ? 1 : 0;
}

}  // namespace

void add_elementwise(std::vector<OpCase>& cases) {
  add_two(cases, "add", [](double a, double b) { return a + b; });
  add_two(cases, "sub", [](double a, double b) { return a - b; });
  add_two(cases, "mul", [](double a, double b) { return a * b; });
  add_two(cases, "div", [](double a, double b) { return a / b; }, {.least = 0.5F, .most = 3});
  add_two(cases, "max", [](double a, double b) { return std::max(a, b); });
  add_two(cases, "min", [](double a, double b) { return std::min(a, b); });
  const Operand coarse{.coarse = true};
  add_two(
      cases, "less", [](double a, double b) { return as_number(a < b); }, coarse);
  add_two(
      cases, "less_equal", [](double a, double b) { return as_number(a <= b); }, coarse);
  add_two(
      cases, "greater", [](double a, double b) { return as_number(a > b); }, coarse);
  add_two(
      cases, "greater_equal", [](double a, double b) { return as_number(a >= b); }, coarse);
  add_two(
      cases, "equal", [](double a, double b) { return as_number(a == b); }, coarse);
  add_two(
      cases, "not_equal", [](double a, double b) { return as_number(a != b); }, coarse);
  for (const bool ragged : {false, true}) {
    const Operand x{.shape = {3, 7}, .ragged = ragged};
    cases.push_back(one(
        "neg", [](double v) { return -v; }, x));
    cases.push_back(one(
        "abs", [](double v) { return std::abs(v); }, x));
    cases.push_back(one(
        "relu", [](double v) { return std::max(v, 0.0); }, x));
    cases.push_back(one(
        "exp", [](double v) { return std::exp(v); }, x));
    cases.push_back(one("sigmoid", sigmoid_of, x));
    cases.push_back(one(
        "tanh", [](double v) { return std::tanh(v); }, x));
    cases.push_back(one(
        "erf", [](double v) { return std::erf(v); }, x));
    cases.push_back(one(
        "gelu", [](double v) { return v / 2 * (1 + std::erf(v * std::sqrt(0.5))); }, x));
    cases.push_back(one("leaky_relu", [](double v) { return v < 0 ? 0.25 * v : v; }, x, {.reals = {0.25}}));
    cases.push_back(one("elu", [](double v) { return v < 0 ? 2 * std::expm1(v) : v; }, x, {.reals = {2}}));
    cases.push_back(one("clamp", [](double v) { return std::clamp(v, -0.5, 1.0); }, x, {.reals = {-0.5, 1}}));
    const Operand wide{.shape = {70}, .ragged = ragged, .least = -30, .most = 30};
    cases.push_back(one(
        "softplus", [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }, wide));
    const Operand turns{.shape = {70}, .ragged = ragged, .least = -400, .most = 400};
    cases.push_back(one(
        "sin", [](double v) { return std::sin(v); }, turns));
    cases.push_back(one(
        "cos", [](double v) { return std::cos(v); }, turns));
    cases.push_back(one(
        "floor", [](double v) { return std::floor(v); }, wide));
    const Operand positive{.shape = {9}, .ragged = ragged, .least = 0.01F, .most = 9};
    cases.push_back(one(
        "sqrt", [](double v) { return std::sqrt(v); }, positive));
    cases.push_back(one(
        "log", [](double v) { return std::log(v); }, positive));
    cases.push_back(one("pow", [](double v) { return v * v; }, x, {.reals = {2}}));
    cases.push_back(one("pow", [](double v) { return 1 / (v * v * v); }, positive, {.reals = {-3}}));
    cases.push_back(one("pow", [](double v) { return std::sqrt(v); }, positive, {.reals = {0.5}}));
    cases.push_back(one("pow", [](double v) { return std::pow(v, 1.3); }, positive, {.reals = {1.3}}));
  }
}

void add_choices(std::vector<OpCase>& cases) {
  const auto chosen = [](const Rows& in) {
    Numbers out;
    for (std::size_t k = 0; k < 12; ++k)
      out.push_back(in[0][k % 4] != 0 ? in[1][k] : in[2][in[2].size() == 1 ? 0 : k]);
    return out;
  };
  const Operand condition{.shape = {4}, .coarse = true, .least = -1, .most = 1};
  cases.push_back({"select", {condition, {{3, 4}}, {{3, 4}}}, applied("select"), chosen});
  Operand ragged = condition;
  ragged.ragged = true;
  cases.push_back({"select", {ragged, {{3, 4}}, {{}}}, applied("select"), chosen});
  const Operand whole{.shape = {3, 4}, .integer = true, .least = -90, .most = 90};
  cases.push_back({"select", {condition, whole, whole}, applied("select"), chosen});
  cases.push_back({"mul_add", {{{6}}, {{6}, true}, {{6}}}, applied("mul_add"), [](const Rows& in) {
                     Numbers out;
                     for (std::size_t k = 0; k < 6; ++k) out.push_back(in[0][k] * in[1][k] + in[2][k]);
                     return out;
                   }});
  cases.push_back(
      one("to_f32", [](double v) { return v; }, {.shape = {5}, .integer = true, .least = -99, .most = 99}));
  cases.push_back(
      one("to_i32", [](double v) { return std::trunc(v); }, {.shape = {5}, .least = -99, .most = 99}));
}

}  // namespace volvox::testing_cells
