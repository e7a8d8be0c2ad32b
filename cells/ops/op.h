#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace volvox {

class Inference;
struct Operator;
template <class Real>
class RowValues;

// What an operator of cells is. Each source in cells/ops defines one, k<File>Op, and nothing else must name
// it: the build collects them (cells/CMakeLists.txt). How a backend runs it is the backend's affair; what it
// means is here. Compared by address: there is one of each. Immutable; any thread.
struct OpDef {
  static constexpr int kAny = -1;

  std::string_view name{};
  // "(inputs; attributes) -> what it makes of them", a line for a table of all; tests keep it with the pages.
  std::string_view says{};
  int inputs = 0, weights = 0;  // how many it takes; kAny: infer() sees to it
  // Sees whether it can work on its inputs, and tells what it makes of them (cells/ir/inference.h).
  Status (*infer)(Inference& at) = nullptr;
  // Computes its value for one row, in the reals of the reference and of devices (cells/ops/row_values.h).
  // Null for those that read or write something beyond the cell: who evaluates cells knows where that is.
  void (*evaluate_f64)(RowValues<double>& row, const Operator& op) = nullptr;
  void (*evaluate_f32)(RowValues<float>& row, const Operator& op) = nullptr;
  // f32, each element from the same element of each input; smaller inputs are repeated (spread_shape())
  bool pointwise = false;
  bool folds = false;  // one row from a row for each predecessor: the first input is ragged, the result not
  bool sink = false;   // makes no value
};

// All there are.
std::span<const OpDef* const> op_defs();
// Null when there is none of this name.
const OpDef* find_op(std::string_view name);

}  // namespace volvox
