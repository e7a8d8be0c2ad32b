#include <algorithm>
#include <string>
#include <vector>

#include "import/onnx/sequence/body_lane.h"
#include "import/onnx/sequence/open_length.h"

namespace volvox::onnx_import {
namespace {

// A Scan along the sequence. Before opset 9 its first axes are the batch.
class ScanLane {
 public:
  explicit ScanLane(StepCall& call) : call_(call), old_(call.node.opset < 9), first_(old_ ? 1 : 0) {
    const NodeAttribute* body = call.node.node.find("body");
    if (body == nullptr || body->graph == nullptr) refuse("has no body");
    body_ = body->graph.get();
    const auto inputs = static_cast<std::int64_t>(call.node.inputs() - std::min(first_, call.node.inputs()));
    const std::int64_t scanned = call.node.integer("num_scan_inputs", 0);
    if (scanned < 1 || scanned > inputs) refuse("scans " + std::to_string(scanned) + " inputs");
    rows_ = static_cast<std::size_t>(scanned);
    states_ = static_cast<std::size_t>(inputs) - rows_;
    if (body_->inputs.size() != states_ + rows_ || body_->outputs.size() < states_)
      refuse("its body has other inputs or outputs than it");
    if (old_ && call.node.has(0)) refuse("cuts its sequence short; a request has its own length");
    reverse_ = is_reverse(old_ ? "directions" : "scan_input_directions", 0);
  }

  void write() {
    std::vector<Quantity> rows, initial;
    for (std::size_t i = 0; i < rows_; ++i) rows.push_back(scanned(i));
    for (std::size_t i = 0; i < states_; ++i) initial.push_back(before(i));
    BodyLane lane(call_, *body_);
    lane.begin("scan", rows, initial, reverse_ != call_.turned);
    GraphWalk::Scope known = lane.what_is_known();
    // Nobody knows in there what stands for the length of the sequence.
    std::erase_if(known.values, [](const auto& value) { return has_open(value.second); });
    GraphWalk::Scope inner{.around = &known};
    for (std::size_t i = 0; i < states_; ++i) inner.values[body_->inputs[i].name] = lane.state(i);
    for (std::size_t i = 0; i < rows_; ++i) {
      std::vector<std::size_t> axes{*rows[i].steps};
      if (old_) axes.push_back(0);
      inner.values[body_->inputs[states_ + i].name] = lane.row(rows[i], axes);
    }
    GraphWalk walk(lane.cell(), call_.node.opset);
    if (Status status = walk.run(*body_, inner); !status) refuse(status.error().message);
    const auto last = lane.keep_states(inner, 0);
    for (std::size_t i = 0; i < states_; ++i)
      call_.make(call_.node.writer.reshape(last[i], call_.in(first_ + i).shape), std::nullopt);
    for (std::size_t i = 0; states_ + i < body_->outputs.size(); ++i)
      make_rows(lane.keep_rows(lane.made(inner, states_ + i), i), i);
  }

 private:
  std::int64_t number(const char* attribute, std::size_t i) const {
    const auto all = call_.node.integers(attribute);
    return i < all.size() ? all[i] : 0;
  }
  bool is_reverse(const char* attribute, std::size_t i) const { return number(attribute, i) != 0; }

  Quantity scanned(std::size_t i) const {
    const Quantity& x = call_.in(first_ + states_ + i);
    const std::size_t axis = old_ ? 1 : NodeCall::axis(number("scan_input_axes", i), x.rank());
    if (x.steps != axis) refuse("scans something else than the sequence");
    call_.use.as_steps = true;
    if (old_ && x.shape[0] != 1) refuse("has a batch of " + std::to_string(x.shape[0]));
    if (is_reverse(old_ ? "directions" : "scan_input_directions", i) != reverse_)
      refuse("scans in both directions");
    return x;
  }

  Quantity before(std::size_t i) const {
    const Quantity& x = call_.in(first_ + i);
    if (!old_ || x.steps) return x;
    if (x.rank() < 1 || x.shape[0] != 1) refuse("has a batch of another size than 1");
    return call_.node.writer.reshape(x, {x.shape.begin() + 1, x.shape.end()});
  }

  void make_rows(const Quantity& row, std::size_t i) {
    if (is_reverse("scan_output_directions", i) != reverse_)
      refuse("puts its rows in the other order than it reads them");
    const std::size_t axis = old_ ? 0 : NodeCall::axis(number("scan_output_axes", i), row.rank() + 1);
    Shape shape = row.shape;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (old_) shape.insert(shape.begin(), 1);
    call_.make(call_.node.writer.reshape(row, shape), old_ ? 1 : axis);
  }

  StepCall& call_;
  const bool old_;
  const std::size_t first_;
  const Graph* body_ = nullptr;
  std::size_t rows_ = 0, states_ = 0;
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
