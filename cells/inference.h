#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/cell.h"
#include "cells/weights.h"

namespace volvox {

// One pass over the operators of one cell: infer()'s work. Private to cells/.
class Inference {
 public:
  Inference(Cell& cell, const Weights* weights, std::string_view model)
      : cell_(cell), weights_(weights), model_(model), produced_(cell.values.size(), false) {}

  Status run();

 private:
  Status error(const std::string& what) const;
  Value& in(std::size_t i) { return cell_.values[op_->inputs[i]]; }

  Status apply();
  Status by_kind();
  Status check_inputs();
  Status source(const std::string& key, DType dtype, const Shape& shape);
  Status arity(std::size_t inputs, std::size_t weights) const;
  Status want(std::size_t i, DType dtype, bool may_be_ragged);
  Status want_vector(std::size_t i);
  Status weight(std::size_t i, const Shape& wanted) const;
  Status number(std::uint32_t& count, std::size_t most, std::string_view what) const;
  Status produce(Value value);

  Status gather();
  Status gather_all();
  Status pull();
  Status scatter();
  Status push();
  Status embed();
  Status product();
  Status convolution();
  Status slice();
  Status concat();
  Status elementwise(std::size_t inputs);
  Status segment_sum();
  Status argmax();
  Status hash(bool of_predecessors);
  Status declared_width(std::size_t weight, std::size_t extent, std::int64_t& width) const;

  Cell& cell_;
  const Weights* weights_;
  std::string_view model_;
  std::vector<bool> produced_;
  const Operator* op_ = nullptr;
  std::map<std::string, std::pair<DType, Shape>> sources_;  // "state h", "input 0": as first met
  std::vector<StateKind> states_;
  std::uint32_t results_ = 0;  // bit i: result i is emitted
};

// "f32[4, 2]"
std::string described(DType dtype, const Shape& shape);

}  // namespace volvox
