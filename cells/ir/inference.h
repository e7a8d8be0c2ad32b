#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// The most axes that a value may have.
inline constexpr std::size_t kMaxAxes = 8;

// One pass over the operators of a cell: infer()'s work. An operator's own part (OpDef::infer) is told of it
// by the public functions, which speak of the operator that the pass has come to.
class Inference {
 public:
  Inference(Cell& cell, const Weights* weights, std::string_view model)
      : cell_(cell), weights_(weights), model_(model), produced_(cell.values.size(), false) {}

  Status run();

  Cell& cell() { return cell_; }
  const Operator& op() const { return *op_; }
  // Its inputs, and its value as it was declared.
  const Value& in(std::size_t i) const { return cell_.values[op_->inputs[i]]; }
  const Value& out() const { return cell_.values[op_->output]; }
  // A weight of it; null without weights, and when there is none of the name.
  const Tensor* tensor(std::size_t weight) const;
  // Names model, cell and operator.
  Status error(const std::string& what) const;

  // What it needs; each says what is wrong.
  Status arity(std::size_t inputs, std::size_t weights) const;
  Status want(std::size_t i, DType dtype, bool may_be_ragged) const;
  Status want_vector(std::size_t i) const;  // of f32
  Status want_ragged(std::size_t i) const;
  Status weight(std::size_t i, const Shape& wanted) const;
  // From `fewest` to `most` integer attributes, and `reals` real ones.
  Status attributes(std::size_t fewest, std::size_t most, std::size_t reals) const;
  // Integer attribute `i`, which names an axis of input 0.
  Status axis(std::size_t i, std::size_t& axis) const;
  // `index` is less than `most`; `count` becomes 1 + the largest.
  Status number(std::uint32_t& count, std::size_t most, std::string_view what) const;
  // What extent `extent` of a weight is, from the weights or else from what the value was declared to be.
  Status declared_width(std::size_t weight, std::size_t extent, std::int64_t& width) const;
  // What comes from outside the cell has one shape and one type wherever the cell uses it.
  Status source(const std::string& key, DType dtype, const Shape& shape);

  // What it makes.
  Status produce(Value value);
  // The state `name`, as it was declared; `whose` ends its name in errors. (Predecessors with numbers above 0
  // may be of other cells, with states of other shapes under the same name: validate() sees whose they are.)
  Status read_state(const std::string& whose, bool ragged);
  Status publish(DType dtype, const Shape& shape);  // this node's state `name`
  Status emit();                                    // a result
  // For pointwise operators: f32 inputs, and a value of the shape that they have together.
  Status elementwise();
  // What inputs [first, last) have together: the axes are counted from the last one; along each they have the
  // same extent, or 1, and are then repeated (NumPy's rule). Ragged: one of them is.
  Status spread(std::size_t first, std::size_t last, Value& value) const;
  // A u64 number, from two single numbers: a hash and an i32 token.
  Status produce_hash();

 private:
  Status apply();
  Status check_inputs();

  Cell& cell_;
  const Weights* weights_;
  std::string_view model_;
  std::vector<bool> produced_;
  const Operator* op_ = nullptr;
  std::map<std::string, std::pair<DType, Shape>> sources_;  // "state h", "input 0": as first met
  std::vector<StateKind> states_;
  std::uint32_t results_ = 0;  // bit i: result i is emitted
};

// The shape of a and b together, as Inference::spread() says. False: they do not fit.
bool spread_shape(const Shape& a, const Shape& b, Shape& out);

// "f32[4, 2]"
std::string described(DType dtype, const Shape& shape);

}  // namespace volvox
