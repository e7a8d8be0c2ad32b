#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/sequence/body_lane.h"
#include "import/onnx/sequence/open_length.h"

namespace volvox::onnx_import {
namespace {

// The body of a loop, in which a number stands for the round: of what has a row for each step it may pick
// that of its own round.
class RoundWalk : public GraphWalk {
 public:
  RoundWalk(BodyLane& lane, std::int64_t opset) : GraphWalk(lane.cell(), opset), lane_(lane) {}

 protected:
  void write(NodeCall& call, const Scope& scope) override {
    bool steps = false, round = false, all_known = true;
    for (std::size_t i = 0; i < call.inputs(); ++i) {
      if (!call.has(i)) continue;
      steps = steps || call.in(i).steps.has_value();
      round = round || has_open(call.in(i));
      all_known = all_known && call.in(i).is_known();
    }
    if (steps) return pick(call);
    if (!round) return GraphWalk::write(call, scope);
    if (!all_known) refuse("computes with the number of the step");
    compute_with_length(call);
  }

 private:
  void pick(NodeCall& call) {
    const Quantity& x = call.in(0);
    const bool gathers = call.node.op == "Gather" && x.steps && call.has(1) && has_open(call.in(1));
    const std::vector<std::int64_t> places = gathers ? call.integers_in(1) : std::vector<std::int64_t>();
    if (places.size() != 1 || places[0] != kRound ||
        NodeCall::axis(call.integer("axis", 0), x.rank()) != *x.steps)
      refuse("reads the sequence otherwise than by picking the step of its own round");
    Quantity row = lane_.row(x, {*x.steps});
    Shape shape = row.shape;
    const Shape& index = call.in(1).shape;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*x.steps), index.begin(), index.end());
    call.outputs = {lane_.cell().reshape(row, shape)};
  }

  BodyLane& lane_;
};

// What the body reads of the sequence, by name.
std::map<std::string, Quantity> rows_read(const Graph& body, const GraphWalk::Scope& scope) {
  std::map<std::string, Quantity> rows;
  for (const Node& node : body.nodes) {
    for (const std::string& name : node.inputs) {
      const Quantity* found = scope.find(name);
      if (found != nullptr && found->steps) rows[name] = *found;
    }
  }
  return rows;
}

bool is_true(const Quantity& x) {
  return x.is_known() && !x.known->is_real() && x.known->size() == 1 && x.known->integers[0] == 1;
}

// A Loop with a round for each step of the sequence.
void loop(StepCall& call) {
  const NodeAttribute* body_of = call.node.node.find("body");
  if (body_of == nullptr || body_of->graph == nullptr) refuse("has no body");
  const Graph& body = *body_of->graph;
  const bool along =
      call.node.has(0) && call.in(0).is_known() && call.node.integers_in(0) == Shape{open_length(1)};
  if (!along) refuse("has another number of rounds than the sequence has steps");
  call.use.as_steps = true;
  if (call.node.has(1) && !is_true(call.in(1))) refuse("ends by a condition");
  const std::size_t states = call.node.inputs() - 2;
  if (call.node.inputs() < 2 || body.inputs.size() != 2 + states || body.outputs.size() < 1 + states)
    refuse("its body has other inputs or outputs than it");
  std::vector<Quantity> rows, initial;
  const auto read = rows_read(body, call.scope);
  for (const auto& [name, x] : read) rows.push_back(x);
  const auto is_whole = [](const Quantity& x) { return x.shape[*x.steps] == 1 && x.missing == 0; };
  if (!std::all_of(rows.begin(), rows.end(), is_whole)) refuse("reads other rows than one of each step");
  const bool turned = !rows.empty() && rows.front().turned;
  if (std::any_of(rows.begin(), rows.end(), [&](const Quantity& x) { return x.turned != turned; }))
    refuse("puts steps of the sequence together with steps in the other order");
  for (std::size_t i = 0; i < states; ++i) initial.push_back(call.in(2 + i));
  BodyLane lane(call, body);
  lane.begin("loop", rows, initial, turned);
  GraphWalk::Scope around = lane.what_is_known(), inner{.around = &around};
  for (const auto& [name, x] : read) around.values.insert_or_assign(name, x);
  inner.values[body.inputs[0].name] = known_integers({}, {kRound});
  inner.values[body.inputs[1].name] = known_integers({}, {1});
  for (std::size_t i = 0; i < states; ++i) inner.values[body.inputs[2 + i].name] = lane.state(i);
  RoundWalk walk(lane, call.node.opset);
  if (Status status = walk.run(body, inner); !status) refuse(status.error().message);
  if (!is_true(lane.made(inner, 0))) refuse("ends by a condition");
  for (const Quantity& last : lane.keep_states(inner, 1)) call.make(last, std::nullopt);
  for (std::size_t i = 0; 1 + states + i < body.outputs.size(); ++i) {
    const Quantity& row = lane.made(inner, 1 + states + i);
    if (row.steps || has_open(row)) refuse("makes rows of what is no value of one step");
    const Quantity kept = lane.keep_rows(row, i);
    Shape shape = kept.shape;
    shape.insert(shape.begin(), 1);
    call.make(call.node.writer.reshape(kept, shape), 0, turned);
  }
}

constexpr StepRule kRules[] = {{"Loop", loop}};

}  // namespace

extern const std::span<const StepRule> kLoopStepRules;
const std::span<const StepRule> kLoopStepRules = kRules;

}  // namespace volvox::onnx_import
