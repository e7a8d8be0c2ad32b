#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

// A LSTM, GRU or RNN along the sequence: each direction is a lane, whose cell is one step as the operator's
// own rule writes it.
class RecurrentLanes {
 public:
  explicit RecurrentLanes(StepCall& call) : call_(call), node_(call.node.node) {
    batch_first_ = call.node.integer("layout", 0) != 0;
    const std::size_t time = batch_first_ ? 1 : 0;
    const Quantity& x = call.in(0);
    if (x.rank() != 3) refuse("its input has the shape " + to_string(x.shape) + ", needs three axes");
    call.use.as_batch = call.use.as_batch || call.steps(0) == 1 - time;
    if (call.steps(0) != time) refuse("has the sequence along another axis than its steps");
    call.use.as_steps = true;
    call.want_one_row(0);
    if (x.shape[1 - time] != 1)
      refuse("has a batch of " + std::to_string(x.shape[1 - time]) + "; the server makes the batches");
    const KnownTensor recurrent = call.node.known_in(2);
    if (recurrent->shape.size() != 3) refuse("its recurrent weights have another shape");
    directions_ = recurrent->shape[0];
    hidden_ = recurrent->shape[2];
    const std::string way = call.node.text("direction", "forward");
    reverse_ = way == "reverse";
    if (directions_ != (way == "bidirectional" ? 2 : 1))
      refuse("its weights are not those of its directions");
    if (call.node.has(4)) check_lengths(call.in(4), open_length(1) - call.missing);
    // All that the rule is told is of one step, and in this order.
    node_.attributes.erase("layout");
    states_ = node_.op == "LSTM" ? std::vector<std::string>{"h", "c"} : std::vector<std::string>{"h"};
  }

  void write() {
    std::vector<std::size_t> lanes;
    for (std::int64_t d = 0; d < directions_; ++d) lanes.push_back(lane(d));
    CellWriter& w = call_.node.writer;
    std::vector<Quantity> rows;
    for (const std::size_t lane : lanes) {
      rows.push_back(w.reshape(call_.lanes.state_of(lane, "h", false), {1, 1, 1, hidden_}));
    }
    call_.make(w.concat(rows, batch_first_ ? 2 : 1), batch_first_ ? 1 : 0);
    for (const std::string& state : states_) {
      std::vector<Quantity> last;
      for (const std::size_t lane : lanes) {
        const bool ends_late = call_.missing > 0 && !call_.lanes.draft(lane).reverse;
        const Quantity end =
            ends_late ? call_.lanes.last_there(call_.lanes.state_of(lane, state, false), call_.missing)
                      : call_.lanes.state_of(lane, state, true);
        last.push_back(w.reshape(end, {1, 1, hidden_}));
      }
      call_.make(w.concat(last, batch_first_ ? 1 : 0), std::nullopt);
    }
  }

 private:
  // Those of the request itself are no lengths to cut at.
  static void check_lengths(const Quantity& lengths, std::int64_t whole_length) {
    const bool whole = lengths.is_known() && !lengths.known->is_real() && lengths.known->size() == 1 &&
                       lengths.known->integers[0] == whole_length;
    if (!whole) refuse("cuts its sequence short; a request has its own length");
  }

  std::size_t lane(std::int64_t direction) {
    std::string name = node_.op;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool reverse = (reverse_ || direction == 1) != call_.turned;
    std::vector<Quantity> reads{call_.in(0)};
    const bool waits = call_.missing > 0 && reverse;  // for the first step that is there
    if (waits) reads.push_back(call_.there(1, 0, 1));
    const std::size_t lane = call_.lanes.begin(name, reads, reverse);
    call_.use.add_lane(reverse);
    CellWriter& cell = call_.lanes.draft(lane).cell;
    std::vector<std::optional<Quantity>> inputs;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const bool is_state = i == 5 || i == 6;
      inputs.push_back(call_.node.has(i) && i != 4 && !is_state ? std::optional(call_.in(i)) : std::nullopt);
    }
    inputs[0] = call_.lanes.bring(lane, call_.in(0));
    inputs.resize(std::max<std::size_t>(inputs.size(), 5 + states_.size()));
    Node one = node_;
    one.inputs.resize(inputs.size());
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const Quantity before = cell.reshape(cell.gather(states_[s], {hidden_}), {1, 1, hidden_});
      inputs[5 + s] = cell.concat(std::vector<Quantity>(static_cast<std::size_t>(directions_), before), 0);
      one.inputs[5 + s] = states_[s];
    }
    NodeCall step(cell, one, call_.node.opset, std::move(inputs));
    find_rule(one.op)->write(step);
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const Quantity both = cell.reshape(step.outputs.at(1 + s), {directions_, hidden_});
      Quantity next = cell.slice(both, 0, direction, direction + 1);
      if (waits) {
        const Quantity before = cell.gather(states_[s], {hidden_});
        next = cell.pointwise("select", {call_.lanes.bring(lane, reads[1]), cell.flat(next), before});
      }
      const std::optional<Quantity> start = initial(5 + s, direction);
      call_.use.add_start(start);
      call_.lanes.keep(lane, states_[s], next, start);
    }
    return lane;
  }

  std::optional<Quantity> initial(std::size_t input, std::int64_t direction) {
    if (!call_.node.has(input)) return std::nullopt;
    Quantity all = call_.in(input);
    if (all.steps) refuse("begins with a state for every step of the sequence");
    const Shape wanted = batch_first_ ? Shape{1, directions_, hidden_} : Shape{directions_, 1, hidden_};
    if (all.shape != wanted) refuse("an initial state has the shape " + to_string(all.shape));
    CellWriter& w = call_.node.writer;
    return w.flat(w.slice(w.reshape(all, {directions_, hidden_}), 0, direction, direction + 1));
  }

  StepCall& call_;
  Node node_;
  bool batch_first_ = false, reverse_ = false;
  std::int64_t directions_ = 1, hidden_ = 0;
  std::vector<std::string> states_;
};

void recurrent(StepCall& call) {
  RecurrentLanes(call).write();
}

constexpr StepRule kRules[] = {{"LSTM", recurrent, true}, {"GRU", recurrent, true}, {"RNN", recurrent, true}};

}  // namespace

extern const std::span<const StepRule> kRecurrentStepRules;
const std::span<const StepRule> kRecurrentStepRules = kRules;

}  // namespace volvox::onnx_import
