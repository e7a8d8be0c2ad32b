#include "cells/ir/window.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "cells/ops/op.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

Shape with_front(std::int64_t extent, const Shape& sample) {
  Shape shape{extent};
  shape.insert(shape.end(), sample.begin(), sample.end());
  return shape;
}

// Without ones in front.
Shape core_of(const Shape& shape) {
  return {std::find_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }),
          shape.end()};
}

class Windowing {
 public:
  Windowing(const Cell& cell, std::uint32_t pull, const InputWindow& window)
      : pull_(pull), window_(window), cell_(cell) {
    cell_.operators.clear();
    for (const Operator& op : cell.operators) add(op);
    if (next_ == kNoValue) return;
    cell_.states.push_back({.name = state_, .shape = with_front(kept(), window.sample)});
    cell_.operators.push_back({.def = &kScatterOp, .inputs = {next_}, .name = state_});
  }

  Result<Cell> take() {
    if (error_) return invalid(*error_);
    return std::move(cell_);
  }

 private:
  std::int64_t kept() const { return window_.samples - window_.hop; }

  ValueId value(Shape shape) {
    cell_.values.push_back({.shape = std::move(shape)});
    return static_cast<ValueId>(cell_.values.size() - 1);
  }

  void add(const Operator& op) {
    if (!op.is(kPullOp) || op.index != pull_) return cell_.operators.push_back(op);
    const Value& wanted = cell_.values[op.output];
    const Shape whole = window_shape(window_);
    if (wanted.dtype != DType::kF32 || core_of(wanted.shape) != core_of(whole)) {
      error_ = "the cell reads " + described(wanted.dtype, wanted.shape) + " as " + in_quotes(op.name) +
               ", its window is " + described(DType::kF32, whole);
      return;
    }
    if (whole_ == kNoValue) put_window(op, whole);
    if (whole_ != op.output) reshape(whole_, op.output);
  }

  void put_window(const Operator& pull, const Shape& whole) {
    Operator row = pull;
    row.output = value(row_shape(window_));
    const ValueId fresh = row.output;
    cell_.operators.push_back(std::move(row));
    state_ = unused_state(pull.name + ".before");
    const ValueId before = value(with_front(kept(), window_.sample));
    cell_.operators.push_back({.def = &kGatherOp, .name = state_, .index = 0, .output = before});
    whole_ = cell_.values[pull.output].shape == whole ? pull.output : value(whole);
    cell_.operators.push_back(concat(before, fresh, whole_));
    next_ = value(with_front(kept(), window_.sample));
    cell_.operators.push_back(newest(whole_, next_));
  }

  // Vectors have operators of their own, which every backend knows well.
  Operator concat(ValueId a, ValueId b, ValueId into) const {
    if (window_.sample.empty()) return {.def = &kConcatOp, .inputs = {a, b}, .output = into};
    return {.def = find_op("concat_axis"), .inputs = {a, b}, .attributes = {.integers = {0}}, .output = into};
  }
  Operator newest(ValueId from, ValueId into) const {
    if (window_.sample.empty())
      return {
          .def = &kSliceOp, .inputs = {from}, .begin = window_.hop, .end = window_.samples, .output = into};
    return {.def = find_op("slice_axis"),
            .inputs = {from},
            .attributes = {.integers = {0, window_.hop, window_.samples}},
            .output = into};
  }
  void reshape(ValueId from, ValueId into) {
    Operator op{.def = &kReshapeOp, .inputs = {from}, .output = into};
    op.attributes.integers = cell_.values[into].shape;
    cell_.operators.push_back(std::move(op));
  }

  std::string unused_state(std::string name) const {
    const auto used = [&] {
      return std::any_of(cell_.states.begin(), cell_.states.end(),
                         [&](const StateKind& state) { return state.name == name; });
    };
    while (used()) name += '_';
    return name;
  }

  std::uint32_t pull_;
  const InputWindow& window_;
  Cell cell_;
  std::string state_;
  ValueId whole_ = kNoValue, next_ = kNoValue;
  std::optional<std::string> error_;
};

}  // namespace

Shape row_shape(const InputWindow& window) {
  return with_front(window.hop, window.sample);
}

Shape window_shape(const InputWindow& window) {
  return with_front(window.samples, window.sample);
}

Result<Cell> over_window(const Cell& cell, std::uint32_t pull, const InputWindow& window) {
  return Windowing(cell, pull, window).take();
}

}  // namespace volvox
