#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// A Scan along the sequence is a lane, whose cell is the body: what it hands on is a state, and so are the
// rows that it makes.
class ScanLane {
 public:
  explicit ScanLane(StepCall& call) : call_(call), old_(call.node.opset < 9) {
    const NodeAttribute* body = call.node.node.find("body");
    if (body == nullptr || body->graph == nullptr) refuse("has no body");
    body_ = body->graph.get();
    const std::size_t first = old_ ? 1 : 0;
    const std::int64_t scanned = call.node.integer("num_scan_inputs", 0);
    const auto inputs = static_cast<std::int64_t>(call.node.inputs() - std::min(first, call.node.inputs()));
    if (scanned < 1 || scanned > inputs) refuse("scans " + std::to_string(scanned) + " inputs");
    rows_ = static_cast<std::size_t>(scanned);
    states_ = static_cast<std::size_t>(inputs) - rows_;
    first_ = first;
    if (body_->inputs.size() != states_ + rows_ || body_->outputs.size() < states_)
      refuse("its body has other inputs or outputs than it");
    if (old_ && call.node.has(0)) refuse("cuts its sequence short; a request has its own length");
    reverse_ = direction("scan_input_directions", 0) != 0;
  }

  void write() {
    std::vector<Quantity> rows;
    for (std::size_t i = 0; i < rows_; ++i) rows.push_back(scanned(i));
    lane_ = call_.lanes.begin("scan", rows, reverse_);
    CellWriter& cell = call_.lanes.draft(lane_).cell;
    GraphWalk::Scope known = what_is_known(), inner{.around = &known};
    for (std::size_t i = 0; i < states_; ++i) {
      const Shape shape = initial(i).shape;
      inner.values[body_->inputs[i].name] = cell.reshape(cell.gather(state(i), {elements(shape)}), shape);
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      inner.values[body_->inputs[states_ + i].name] =
          cell.reshape(call_.lanes.bring(lane_, rows[i]), without(rows[i].shape, axis_of(i)));
    }
    GraphWalk walk(cell, call_.node.opset);
    if (Status status = walk.run(*body_, inner); !status) refuse(status.error().message);
    keep_states(inner);
    for (std::size_t i = states_; i < body_->outputs.size(); ++i) make_rows(made(inner, i), i - states_);
  }

 private:
  static std::string state(std::size_t i) { return "state" + std::to_string(i); }
  std::int64_t direction(const char* attribute, std::size_t i) const {
    const auto all = call_.node.integers(
        old_ && std::string(attribute) == "scan_input_directions" ? "directions" : attribute);
    return i < all.size() ? all[i] : 0;
  }
  std::int64_t axis(const char* attribute, std::size_t i) const {
    const auto all = call_.node.integers(attribute);
    return i < all.size() ? all[i] : 0;
  }
  std::size_t axis_of(std::size_t i) const {
    const Quantity& x = call_.in(first_ + states_ + i);
    return old_ ? 1 : NodeCall::axis(axis("scan_input_axes", i), x.rank());
  }
  // Before opset 9 the first axis is the batch.
  Shape without(Shape shape, std::size_t axis) const {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    if (old_) shape.erase(shape.begin());
    return shape;
  }

  Quantity scanned(std::size_t i) const {
    const Quantity& x = call_.in(first_ + states_ + i);
    if (x.steps != axis_of(i)) refuse("scans something else than the sequence");
    call_.use.as_steps = true;
    if (old_ && x.shape[0] != 1) refuse("has a batch of " + std::to_string(x.shape[0]));
    if ((direction("scan_input_directions", i) != 0) != reverse_) refuse("scans in both directions");
    return x;
  }

  Quantity initial(std::size_t i) const {
    Quantity x = call_.in(first_ + i);
    if (x.steps) refuse("begins with a state for every step of the sequence");
    if (x.dtype != DType::kF32) refuse("has a state of whole numbers");
    if (!old_) return x;
    if (x.rank() < 1 || x.shape[0] != 1) refuse("has a batch of another size than 1");
    return call_.node.writer.reshape(x, {x.shape.begin() + 1, x.shape.end()});
  }

  // The body sees the graph around it. What that computes of the sequence are no values of one step.
  GraphWalk::Scope what_is_known() const {
    GraphWalk::Scope known;
    for (const GraphWalk::Scope* scope = &call_.scope; scope != nullptr; scope = scope->around) {
      for (const auto& [name, value] : scope->values) {
        if (value.is_known() && !value.steps) known.values.try_emplace(name, value);
      }
    }
    return known;
  }

  const Quantity& made(const GraphWalk::Scope& inner, std::size_t i) const {
    const Quantity* found = inner.find(body_->outputs[i]);
    if (found == nullptr) refuse("nothing in its body makes " + in_quotes(body_->outputs[i]));
    return *found;
  }

  void keep_states(const GraphWalk::Scope& inner) {
    for (std::size_t i = 0; i < states_; ++i) {
      const Quantity &next = made(inner, i), before = initial(i);
      if (next.shape != before.shape || next.dtype != DType::kF32)
        refuse("its state " + std::to_string(i) + " is " + to_string(before.shape) + " and becomes " +
               to_string(next.shape));
      call_.lanes.keep(lane_, state(i), next, before);
    }
    for (std::size_t i = 0; i < states_; ++i) {
      const Quantity last = call_.lanes.state_of(lane_, state(i), true);
      call_.make(call_.node.writer.reshape(last, call_.in(first_ + i).shape), std::nullopt);
    }
  }

  void make_rows(const Quantity& row, std::size_t i) {
    if ((direction("scan_output_directions", i) != 0) != reverse_)
      refuse("puts its rows in the other order than it reads them");
    const std::string name = "row" + std::to_string(i);
    call_.lanes.keep(lane_, name, row, std::nullopt);
    Shape shape = row.shape;
    const std::size_t axis = old_ ? 0 : NodeCall::axis(this->axis("scan_output_axes", i), row.rank() + 1);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (old_) shape.insert(shape.begin(), 1);
    const Quantity rows = call_.lanes.state_of(lane_, name, false);
    call_.make(call_.node.writer.reshape(rows, shape), old_ ? 1 : axis);
  }

  StepCall& call_;
  const bool old_;
  const Graph* body_ = nullptr;
  std::size_t first_ = 0, rows_ = 0, states_ = 0, lane_ = 0;
  bool reverse_ = false;
};

void scan(StepCall& call) {
  ScanLane(call).write();
}

constexpr StepRule kRules[] = {{"Scan", scan}};

}  // namespace

extern const std::span<const StepRule> kScanStepRules;
const std::span<const StepRule> kScanStepRules = kRules;

}  // namespace volvox::onnx_import
