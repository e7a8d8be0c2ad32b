#include "import/onnx/sequence/body_lane.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace volvox::onnx_import {

void BodyLane::begin(std::string_view name, const std::vector<Quantity>& rows, std::vector<Quantity> initial,
                     bool reverse) {
  for (const Quantity& x : initial) {
    if (x.steps) refuse("begins with a state for every step of the sequence");
    if (x.dtype != DType::kF32 || (x.is_known() && !x.known->is_real()))
      refuse("has a state of whole numbers");
    if (elements(x.shape) == 0) refuse("has an empty state");
    call_.use.add_start(x);
  }
  call_.use.add_lane(reverse);
  initial_ = std::move(initial);
  lane_ = call_.lanes.begin(std::string(name), rows, reverse);
}

Quantity BodyLane::state(std::size_t i) {
  const Shape& shape = initial_[i].shape;
  return cell().reshape(cell().gather(state_name(i), {elements(shape)}), shape);
}

Quantity BodyLane::row(const Quantity& x, std::vector<std::size_t> axes) {
  Shape shape = x.shape;
  std::sort(axes.begin(), axes.end(), std::greater<>());
  for (const std::size_t axis : axes) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return cell().reshape(call_.lanes.bring(lane_, x), shape);
}

GraphWalk::Scope BodyLane::what_is_known() const {
  GraphWalk::Scope known;
  for (const GraphWalk::Scope* scope = &call_.scope; scope != nullptr; scope = scope->around) {
    for (const auto& [name, value] : scope->values) {
      if (value.is_known() && !value.steps) known.values.try_emplace(name, value);
    }
  }
  return known;
}

const Quantity& BodyLane::made(const GraphWalk::Scope& inner, std::size_t output) const {
  const Quantity* found = inner.find(body_.outputs.at(output));
  if (found == nullptr) refuse("nothing in its body makes " + in_quotes(body_.outputs[output]));
  return *found;
}

std::vector<Quantity> BodyLane::keep_states(const GraphWalk::Scope& inner, std::size_t first) {
  std::vector<Quantity> last;
  for (std::size_t i = 0; i < initial_.size(); ++i) {
    const Quantity& next = made(inner, first + i);
    if (next.shape != initial_[i].shape || next.dtype != DType::kF32)
      refuse("its state " + std::to_string(i) + " is " + to_string(initial_[i].shape) + " and becomes " +
             to_string(next.shape));
    call_.lanes.keep(lane_, state_name(i), next, initial_[i]);
    last.push_back(call_.node.writer.reshape(call_.lanes.state_of(lane_, state_name(i), true), next.shape));
  }
  return last;
}

Quantity BodyLane::keep_rows(const Quantity& row, std::size_t i) {
  const std::string name = "row" + std::to_string(i);
  call_.lanes.keep(lane_, name, row, std::nullopt);
  return call_.node.writer.reshape(call_.lanes.state_of(lane_, name, false), row.shape);
}

}  // namespace volvox::onnx_import
