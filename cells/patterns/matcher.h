#pragma once

#include <cstddef>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ops/op.h"

namespace volvox {

// Whether the rows of a float value lie in memory as they are: gathered states, pulled inputs, or rows of a
// table chosen by a pulled id.
bool lies_in_memory(const Cell& cell, ValueId value);

// The operands of a product, without the start.
std::vector<ValueId> product_terms(const Operator& product);
// The value that the chains start from; kNoValue: a bias, or zero.
ValueId product_start(const Operator& product);

// For patterns: walks over a cell's operators and notes which of them it has understood. A cell is of a form
// if that form explains all of them. Names and the order of independent operators do not matter.
class Matcher {
 public:
  explicit Matcher(const Cell& cell) : cell_(cell), used_(cell.operators.size(), false) {}

  const Cell& cell() const { return cell_; }
  void use(const Operator& op) { used_[static_cast<std::size_t>(&op - cell_.operators.data())] = true; }
  bool used_all() const;

  // The operator that makes `value`, when it is of this kind; it is understood then. Else null, as for one
  // that spreads an operand over the others: the fused kernels read as many elements of each.
  const Operator* made_by(ValueId value, const OpDef& kind);
  // The cell's only product, whose operands and start all lie in memory, at most kMaxTerms. Else null.
  const Operator* only_product();
  // Whether the value is gathered, as floats.
  bool is_gathered(ValueId value);
  // Whether the value lies_in_memory(); what brings it there is understood then.
  bool match_operand(ValueId value);
  // Whether the value is number `part` of `parts` equal ones into which `whole` is cut.
  bool is_part(ValueId value, ValueId whole, std::size_t part, std::size_t parts);
  // a · b may be written b · a.
  template <class First, class Second>
  static bool either_way(ValueId a, ValueId b, First first, Second second) {
    return (first(a) && second(b)) || (first(b) && second(a));
  }

 private:
  const Cell& cell_;
  std::vector<bool> used_;
};

}  // namespace volvox
