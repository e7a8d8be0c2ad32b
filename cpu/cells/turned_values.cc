#include "cpu/cells/turned_values.h"

#include <cstdint>
#include <numeric>

#include "cells/ops/ops.h"
#include "cpu/cells/convolver.h"
#include "cpu/cells/pointwise.h"

namespace volvox::cpu {
namespace {

// Values that are turned together, or none of them is.
class Ties {
 public:
  explicit Ties(std::size_t values) : of_(values), loose_(values, true) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }

  void tie(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    of_[a] = b;
    loose_[b] = loose_[a] && loose_[b];
  }
  // They stay as their shapes say.
  void fix(std::size_t value) { loose_[find(value)] = false; }
  bool is_loose(std::size_t value) { return loose_[find(value)]; }

 private:
  std::size_t find(std::size_t value) {
    while (of_[value] != value) value = of_[value] = of_[of_[value]];
    return value;
  }

  std::vector<std::size_t> of_;  // another value of the same, or the value itself
  std::vector<bool> loose_;
};

bool keeps_order(const Cell& cell, const Operator& op) {
  return op.is(kSliceOp) || op.is(kReshapeOp) || is_elementwise(cell, op);
}

// Whether a slice of a turned value takes whole channels.
bool takes_channels(const Operator& op, std::size_t positions) {
  const auto each = static_cast<std::int64_t>(positions);
  return !op.is(kSliceOp) || (op.begin % each == 0 && op.end % each == 0);
}

bool reads_turned(const Convolution& c, const ValueLayout& x) {
  return plan_convolution(c).in_place && c.groups == 1 && x.positions == static_cast<std::size_t>(c.width) &&
         x.pitch == static_cast<std::size_t>(c.channels);
}

}  // namespace

std::vector<ValueLayout> find_turned(const Cell& cell) {
  std::vector<ValueLayout> layouts(cell.values.size());
  Ties ties(cell.values.size());
  for (const Operator& op : cell.operators) {
    const bool has_output = op.output != kNoValue;
    if (op.is(kConvolutionOp)) {
      const ValueId x = op.inputs.front();
      if (!reads_turned(op.convolution, layouts[x])) ties.fix(x);
      if (op.convolution.groups == 1 && !cell.values[op.output].ragged)
        layouts[op.output] = {static_cast<std::size_t>(op.convolution.positions()),
                              static_cast<std::size_t>(op.convolution.kernels)};
    } else if (has_output && keeps_order(cell, op)) {
      ValueLayout& made = layouts[op.output];
      made = layouts[op.inputs.front()];
      if (is_elementwise(cell, op))
        made.pitch = static_cast<std::size_t>(elements(cell.values[op.output].shape)) / made.positions;
      if (!takes_channels(op, made.positions) || cell.values[op.output].ragged) ties.fix(op.output);
      for (const ValueId input : op.inputs) {
        if (layouts[input].positions != made.positions) ties.fix(op.output);
        ties.tie(input, op.output);
      }
    } else {
      for (const ValueId input : op.inputs) ties.fix(input);
    }
  }
  for (std::size_t value = 0; value < layouts.size(); ++value) {
    if (!layouts[value].is_turned() || !ties.is_loose(value)) layouts[value] = {};
  }
  return layouts;
}

}  // namespace volvox::cpu
