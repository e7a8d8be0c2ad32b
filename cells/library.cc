#include "cells/library.h"

#include "cells/cell_builder.h"

namespace volvox {
namespace {

void declare_states(CellBuilder& b, std::int64_t hidden) {
  b.state({.name = "h", .shape = {hidden}}).state({.name = "c", .shape = {hidden}});
}

// Gate `number` of z, each of `hidden` elements.
ValueId gate(CellBuilder& b, ValueId z, std::int64_t number, std::int64_t hidden) {
  return b.slice(z, number * hidden, (number + 1) * hidden);
}

// h = o·tanh(c); publishes both and emits h.
void finish(CellBuilder& b, ValueId o, ValueId c) {
  const ValueId h = b.mul(b.sigmoid(o), b.tanh(c));
  b.scatter("h", h);
  b.scatter("c", c);
  b.push("h", h);
}

// One step from x, after the states of gather 0.
void add_lstm(CellBuilder& b, std::string_view name, ValueId x, std::int64_t hidden) {
  const std::string prefix = std::string(name) + ".";
  const std::string bias = prefix + "bias", weight_ih = prefix + "weight_ih",
                    weight_hh = prefix + "weight_hh";
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  const ValueId i = b.sigmoid(gate(b, z, 0, hidden));
  const ValueId f = b.sigmoid(gate(b, z, 1, hidden));
  const ValueId g = b.tanh(gate(b, z, 2, hidden));
  finish(b, gate(b, z, 3, hidden), b.mul_add(f, c, b.mul(i, g)));
}

}  // namespace

Result<Cell> lstm_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                       std::string_view model) {
  CellBuilder b{std::string(name)};
  declare_states(b, sizes.hidden);
  const ValueId token = b.pull("token", DType::kI32);
  add_lstm(b, name, b.embed(token, std::string(name) + ".embedding", sizes.input), sizes.hidden);
  return b.build(weights, model);
}

Result<Cell> lstm_layer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                             std::string_view model) {
  CellBuilder b{std::string(name)};
  declare_states(b, sizes.hidden);
  add_lstm(b, name, b.gather(1, "h", Shape{sizes.input}), sizes.hidden);
  return b.build(weights, model);
}

Result<Cell> noop_cell(std::string_view name) {
  return CellBuilder{std::string(name)}.build();
}

Result<Cell> check_cell(std::string_view name) {
  CellBuilder b{std::string(name)};
  b.state({.name = "state", .shape = {}, .dtype = DType::kU64});
  const ValueId token = b.pull("token", DType::kI32);
  const ValueId state = b.hash(b.gather(0, "state"), token);
  b.scatter("state", state);
  b.push("state", state);
  return b.build();
}

Result<Cell> check_tree_cell(std::string_view name) {
  CellBuilder b{std::string(name)};
  b.state({.name = "state", .shape = {}, .dtype = DType::kU64});
  const ValueId token = b.pull("token", DType::kI32);
  const ValueId state = b.hash_all(b.gather_all("state"), token);
  b.scatter("state", state);
  b.push("state", state);
  return b.build();
}

Result<Cell> tree_lstm_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                 const Weights* weights, std::string_view model) {
  const std::string leaf = std::string(prefix) + ".leaf.";
  const std::string embedding = leaf + "embedding", weight = leaf + "weight", bias = leaf + "bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_states(b, hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const ValueId z = b.product({{weight, x}}, {.bias = bias, .width = 3 * hidden});
  const ValueId i = b.sigmoid(gate(b, z, 0, hidden));
  const ValueId g = b.tanh(gate(b, z, 1, hidden));
  finish(b, gate(b, z, 2, hidden), b.mul(i, g));
  return b.build(weights, model);
}

Result<Cell> tree_lstm_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                     const Weights* weights, std::string_view model) {
  const std::string internal = std::string(prefix) + ".internal.";
  const std::string left = internal + "left", right = internal + "right", bias = internal + "bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_states(b, hidden);
  const auto [h0, c0] = b.gather(0, {"h", "c"});
  const auto [h1, c1] = b.gather(1, {"h", "c"});
  const ValueId z = b.product({{left, h0}, {right, h1}}, {.bias = bias, .width = 5 * hidden});
  const ValueId i = b.sigmoid(gate(b, z, 0, hidden));
  const ValueId f0 = b.sigmoid(gate(b, z, 1, hidden));
  const ValueId f1 = b.sigmoid(gate(b, z, 2, hidden));
  const ValueId g = b.tanh(gate(b, z, 3, hidden));
  finish(b, gate(b, z, 4, hidden), b.mul_add(f0, c0, b.mul_add(f1, c1, b.mul(i, g))));
  return b.build(weights, model);
}

Result<Cell> child_sum_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                            std::string_view model) {
  const std::string prefix = std::string(name) + ".";
  const std::string embedding = prefix + "embedding", weight = prefix + "weight",
                    children = prefix + "children", bias = prefix + "bias",
                    forget_weight = prefix + "forget_weight", forget_child = prefix + "forget_child",
                    forget_bias = prefix + "forget_bias";
  const std::int64_t hidden = sizes.hidden;
  CellBuilder b{std::string(name)};
  declare_states(b, hidden);
  const ValueId x = b.embed(b.pull("token", DType::kI32), embedding, sizes.input);
  const auto [h, c] = b.gather_all({"h", "c"});
  const ValueId z =
      b.product({{weight, x}, {children, b.segment_sum(h)}}, {.bias = bias, .width = 3 * hidden});
  const ValueId f =
      b.sigmoid(b.product({{forget_weight, x}, {forget_child, h}}, {.bias = forget_bias, .width = hidden}));
  const ValueId kept = b.segment_sum(b.mul(f, c));
  const ValueId i = b.sigmoid(gate(b, z, 0, hidden));
  const ValueId g = b.tanh(gate(b, z, 1, hidden));
  finish(b, gate(b, z, 2, hidden), b.mul_add(i, g, kept));
  return b.build(weights, model);
}

}  // namespace volvox
