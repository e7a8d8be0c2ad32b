#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/convolution.h"
#include "cells/ir/types.h"

namespace volvox {

// One kind of state that cells hand to each other ("h", "c"): one plane on a device.
// Row 0 of the plane holds `initial` in every element.
struct StateKind {
  std::string name{};
  Shape shape{};
  DType dtype = DType::kF32;
  double initial = 0.0;

  bool operator==(const StateKind&) const = default;
};

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

struct OpDef;

// What an operator is told besides its inputs: axes, extents, bounds. OpDef::says names those that it reads,
// in their order.
struct Attributes {
  std::vector<std::int64_t> integers{};
  std::vector<double> reals{};

  bool operator==(const Attributes&) const = default;
};

// One operator of a cell: gather, scatter, pull and push (Cavs §3.1), or one that computes. What it does
// stands in cells/ops; the other members are what some of them need.
struct Operator {
  const OpDef* def = nullptr;
  std::vector<ValueId> inputs{};
  std::vector<std::string> weights{};  // tensor names; two cells may name the same tensor
  std::string name{};                  // state, input or result name
  std::uint32_t index = 0;             // predecessor, input or result number
  std::int64_t begin = 0, end = 0;     // of a slice
  Convolution convolution{};           // of a convolution, or a pooling
  Attributes attributes{};
  bool has_bias = false, has_start = false;
  ValueId output = kNoValue;  // kNoValue for those that make none

  bool is(const OpDef& other) const { return def == &other; }
};

struct Value {
  DType dtype = DType::kF32;
  Shape shape{};        // known after infer()
  bool ragged = false;  // one row for each predecessor
};

// A small static dataflow graph in SSA form, with the names of its weights: the unit that is batched
// (BatchMaker §3.1). Operators stand in execution order; every value has one producer. Immutable once built.
struct Cell {
  std::string name;
  std::vector<Value> values;
  std::vector<Operator> operators;
  std::vector<StateKind> states;  // what a node of this cell publishes, in the order of its scatters

  // How many single predecessors, inputs and results a node of this cell has: 1 + the largest index in use.
  std::uint32_t gathers = 0, pulls = 0, pushes = 0;
  bool gathers_all = false;

  const Operator* producer(ValueId value) const;  // nullptr when there is none
  ValueId unshaped(ValueId value) const;          // the same elements, before they got other shapes
  // Whether a pointwise operator repeats an input that has fewer elements than its value.
  bool spreads(const Operator& op) const;
};

}  // namespace volvox
