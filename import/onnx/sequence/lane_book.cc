#include "import/onnx/sequence/lane_book.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "cells/ir/lane_plan.h"
#include "cells/ops/ops.h"
#include "import/onnx/known.h"

namespace volvox::onnx_import {
namespace {

constexpr const char* kAside = "x";    // the state of a lane that only computes something
constexpr const char* kRows = "rows";  // that a window keeps
// Of one that reads all rows of another, which are called otherwise.
constexpr const char* kAnswer = "answer";

}  // namespace

Quantity LaneBook::input(const std::string& name, DType dtype, const Shape& row) {
  inputs_.push_back(name);
  return graph().pull(name, static_cast<std::uint32_t>(inputs_.size() - 1), dtype, row);
}

std::size_t LaneBook::add(const std::string& name, bool reverse, bool once) {
  if (drafts_.size() == LanePlan::kMaxLanes)
    refuse("the model would have more than " + std::to_string(LanePlan::kMaxLanes) + " lanes");
  auto draft = std::make_unique<LaneDraft>(weights_);
  draft->name = name + std::to_string(names_[name]++);
  draft->reverse = reverse;
  draft->once = once;
  drafts_.push_back(std::move(draft));
  brought_.emplace_back();
  return drafts_.size() - 1;
}

StatePlace LaneBook::place_in(std::size_t lane, const std::string& state, bool last) const {
  return {.lane = lane, .last = last, .once = drafts_[lane]->once, .state = state};
}

// ---- What gets a lane of its own ----

std::size_t LaneBook::set_aside(const Quantity& x, bool reverse) {
  const bool once = !graph_.is_stepwise(x.id);
  const std::size_t lane = add(once ? "end" : "part", reverse, once);
  LaneDraft& draft = *drafts_[lane];
  const Quantity value = draft.cell.flat(bring(lane, x));
  draft.cell.scatter(kAside, value);
  draft.states[kAside] = value;
  return lane;
}

void LaneBook::keep_aside(const Quantity& x) {
  const std::size_t lane = set_aside(x, false);
  graph_.place(x.id, place_in(lane, kAside));
}

// Until one cell can compute it: gives lanes to what it is computed of.
void LaneBook::split_up(ValueId value) {
  for (;;) {
    const auto needs = graph_.needs_below(value);
    const auto found =
        std::find_if(needs.begin(), needs.end(), [](const auto& one) { return !one.second.fit(); });
    if (found == needs.end()) return;
    const std::vector<ValueId> inputs = graph().maker(found->first).inputs;
    const auto reads_several = [&](ValueId id) {
      return needs.at(id).lanes.size() + needs.at(id).inputs.size() > 1;
    };
    const auto input = std::find_if(inputs.begin(), inputs.end(), reads_several);
    input != inputs.end() ? keep_aside(graph().value_of(*input)) : put_together(found->first);
  }
}

// Of parts that are each one lane's: some are put together before the others.
void LaneBook::put_together(ValueId value) {
  const Operator op = graph().maker(value);
  if (op.def->name != "concat_axis") refuse("reads too many values that other lanes keep");
  const auto axis = static_cast<std::size_t>(op.attributes.integers[0]);
  std::vector<Quantity> groups, group;
  StepGraph::Needs needs;
  const auto close = [&] {
    groups.push_back(graph().concat(group, axis));
    if (group.size() > 1) keep_aside(groups.back());
    group.clear();
    needs = {};
  };
  for (const ValueId input : op.inputs) {
    StepGraph::Needs with = needs;
    with.add(graph_.needs_of(input));
    if (!with.fit()) close();
    needs.add(graph_.needs_of(input));
    group.push_back(graph().value_of(input));
  }
  close();
  const Quantity whole = graph().concat(groups, axis);
  split_up(whole.id);
  keep_aside(whole);
  graph_.place(value, *graph_.place_of(whole.id));
}

// Products are dear: what a lane before has computed by one is read there, not computed again: whatever comes
// last of what it has. Not from a lane in reverse, which whoever goes forwards would have to wait for, nor
// from one of results, or with which others begin, as these may come to read more still.
void LaneBook::keep_what_others_compute(ValueId value) {
  std::vector<std::size_t> open;  // lanes to read from
  for (std::size_t lane = 0; lane < drafts_.size(); ++lane) {
    const auto is_it = [lane](const auto& head) { return head.second == lane; };
    const auto begins = [lane](const auto& draft) { return draft->initial == lane; };
    if (!drafts_[lane]->reverse && std::none_of(heads_.begin(), heads_.end(), is_it) &&
        std::none_of(drafts_.begin(), drafts_.end(), begins))
      open.push_back(lane);
  }
  const std::map<ValueId, std::size_t> known = computed_before(value, open);
  for (const ValueId id : graph_.closure(value, [&](ValueId one) { return known.contains(one); })) {
    const auto found = known.find(id);
    if (found == known.end()) continue;
    const std::size_t lane = found->second;
    LaneDraft& draft = *drafts_[lane];
    const std::string state = "kept" + std::to_string(draft.states.size());
    const Quantity kept = draft.cell.flat(bring(lane, graph().value_of(id)));
    draft.cell.scatter(state, kept);
    draft.states[state] = kept;
    graph_.place(id, place_in(lane, state));
  }
}

// Of what the value is made of by products: which of these lanes has it, or has what it is a part of.
std::map<ValueId, std::size_t> LaneBook::computed_before(ValueId value,
                                                         const std::vector<std::size_t>& lanes) {
  std::map<ValueId, std::size_t> known;
  std::set<ValueId> dear;
  for (const ValueId id : graph_.closure(value, [](ValueId) { return false; })) {
    const Operator& op = graph_.writer().maker(id);
    const auto is_dear = [&](ValueId input) { return dear.contains(input); };
    const bool multiplies = op.is(kProductOp) || op.is(kConvolutionOp) || op.def->name == "matmul";
    if (graph_.is_leaf(id) || (!multiplies && std::none_of(op.inputs.begin(), op.inputs.end(), is_dear)))
      continue;
    dear.insert(id);
    const bool stepwise = graph_.is_stepwise(id);
    const auto has_it = [&](std::size_t lane) {
      return brought_[lane].contains(id) && (stepwise || drafts_[lane]->once);
    };
    const auto lane = std::find_if(lanes.begin(), lanes.end(), has_it);
    if (lane != lanes.end()) {
      known[id] = *lane;
    } else if (op.is(kSliceOp) || op.is(kReshapeOp)) {
      const auto whole = known.find(op.inputs.front());
      if (whole != known.end()) known[id] = whole->second;
    }
  }
  return known;
}

void LaneBook::settle(const Quantity& x, bool for_recurrence) {
  if (x.is_known()) return;
  keep_what_others_compute(x.id);
  split_up(x.id);
  if (for_recurrence && graph_.needs_of(x.id).computes) keep_aside(x);
}

// ---- Cells of lanes ----

std::size_t LaneBook::begin(const std::string& name, const std::vector<Quantity>& reads, bool reverse) {
  StepGraph::Needs needs;
  for (const Quantity& x : reads) {
    settle(x, true);
    if (!x.is_known()) needs.add(graph_.needs_of(x.id));
  }
  if (!needs.fit()) refuse("reads too many values that other lanes keep");
  return add(name, reverse, false);
}

Quantity LaneBook::gathered(LaneDraft& draft, const StatePlace& place, const Quantity& as) const {
  const LaneDraft& from = *drafts_[place.lane];
  if (draft.once && !from.once && !place.last) refuse("reads every step of a sequence at once");
  const std::pair read(place.lane, place.last || (from.once && !draft.once));
  auto found = std::find(draft.from.begin(), draft.from.end(), read);
  if (found == draft.from.end()) found = draft.from.insert(found, read);
  const auto number = static_cast<std::uint32_t>(1 + (found - draft.from.begin()));
  return draft.cell.reshape(draft.cell.gather(place.state, {elements(as.shape)}, number, as.dtype), as.shape);
}

Quantity LaneBook::pulled(LaneDraft& draft, const Operator& pull, const Quantity& as) const {
  auto found = std::find(draft.pulls.begin(), draft.pulls.end(), pull.index);
  if (found == draft.pulls.end()) found = draft.pulls.insert(found, pull.index);
  const auto number = static_cast<std::uint32_t>(found - draft.pulls.begin());
  return draft.cell.pull(pull.name, number, as.dtype, as.shape);
}

Quantity LaneBook::bring(std::size_t lane, const Quantity& x) {
  if (x.is_known()) {
    Quantity plain = x;
    plain.steps.reset();
    return plain;
  }
  LaneDraft& draft = *drafts_[lane];
  auto& brought = brought_[lane];
  for (const ValueId id : graph_.closure(x.id, [&](ValueId one) { return brought.contains(one); })) {
    if (brought.contains(id)) continue;
    const Operator& op = graph().maker(id);
    const Quantity as = graph().value_of(id);
    if (const StatePlace* place = graph_.place_of(id)) {
      brought[id] = gathered(draft, *place, as);
    } else {
      brought[id] = op.is(kPullOp) ? pulled(draft, op, as) : graph_.remade(draft.cell, id, brought);
    }
  }
  return brought.at(x.id);
}

void LaneBook::keep(std::size_t lane, const std::string& state, const Quantity& next,
                    const std::optional<Quantity>& initial) {
  LaneDraft& draft = *drafts_[lane];
  const Quantity value = draft.cell.flat(next);
  double before = 0;
  if (initial && initial->is_known()) {
    const KnownTensor numbers = initial->known;
    const auto& reals = numbers->reals;
    const auto& whole = numbers->integers;
    const bool same = numbers->is_real() ? std::equal(reals.begin() + 1, reals.end(), reals.begin())
                                         : std::equal(whole.begin() + 1, whole.end(), whole.begin());
    if (same) before = numbers->is_real() ? reals[0] : static_cast<double>(whole[0]);
    if (!same) begin_with(lane, state, *initial);
  } else if (initial) {
    begin_with(lane, state, *initial);
  }
  draft.cell.scatter(state, value, before);
  draft.states[state] = value;
}

// From the last state of a lane of one step, which computes it.
void LaneBook::begin_with(std::size_t lane, const std::string& state, const Quantity& initial) {
  settle(initial, false);
  if (drafts_[lane]->initial == LaneDraft::kNoLane) {
    const std::size_t made = add("begin", false, true);
    drafts_[lane]->initial = made;
  }
  const std::size_t from = drafts_[lane]->initial;
  LaneDraft& draft = *drafts_[from];
  draft.cell.scatter(state, draft.cell.flat(bring(from, initial)));
  if (draft.from.size() >= kMaxGathers) refuse("begins with values that too many other lanes keep");
}

// ---- What lanes keep, in the graph ----

Quantity LaneBook::state_of(std::size_t lane, const std::string& state, bool last) {
  const Quantity& kept = drafts_[lane]->states.at(state);
  return graph_.leaf(place_in(lane, state, last), kept.shape, kept.dtype);
}

// Lanes end at the end of the sequence, or where they run in reverse at its beginning; what others keep, and
// inputs, are handed on to a lane that does.
Quantity LaneBook::end_of(ValueId value, SequenceEnd end) {
  const Quantity as = graph().value_of(value);
  const bool reverse = end == SequenceEnd::kFirst;
  const StatePlace* place = graph_.place_of(value);
  const bool ends_there = place != nullptr && drafts_[place->lane]->reverse == reverse;
  const StatePlace last =
      ends_there ? place_in(place->lane, place->state, true) : place_in(set_aside(as, reverse), kAside, true);
  return graph_.leaf(last, as.shape, as.dtype);
}

Quantity LaneBook::at_end(const Quantity& x, SequenceEnd end) {
  if (x.is_known()) return x;
  std::map<ValueId, Quantity> made;
  const auto is_whole = [&](ValueId id) { return !graph_.is_stepwise(id) || graph().maker(id).is(kEmbedOp); };
  for (const ValueId id : graph_.closure(x.id, is_whole)) {
    const auto known = ends_.find({id, end});
    if (known != ends_.end()) {
      made[id] = known->second;
    } else if (!graph_.is_stepwise(id)) {
      made[id] = graph().value_of(id);
    } else if (graph_.is_leaf(id) || graph().maker(id).is(kEmbedOp)) {
      made[id] = end_of(id, end);
    } else {
      made[id] = graph_.remade(graph(), id, made);
    }
    ends_[{id, end}] = made[id];
  }
  return made.at(x.id);
}

Quantity LaneBook::rows_before(const Quantity& x, std::int64_t rows, bool reverse) {
  const std::int64_t size = elements(x.shape);
  const auto is_it = [&](const KeptRows& one) { return one.of == x.id && one.reverse == reverse; };
  const auto found = std::find_if(kept_rows_.begin(), kept_rows_.end(), is_it);
  const auto place = static_cast<std::size_t>(found - kept_rows_.begin());
  if (found == kept_rows_.end()) {
    const std::int64_t planned = place < planned_rows_.size() ? planned_rows_[place] : 0;
    const Quantity all = keep_rows(x, std::max(rows, planned), reverse);
    kept_rows_.push_back({x.id, reverse, std::max(rows, planned), all});
    wanted_rows_.push_back(rows);
  }
  wanted_rows_[place] = std::max(wanted_rows_[place], rows);
  const KeptRows& kept = kept_rows_[place];
  if (kept.rows >= rows) return graph().slice(kept.all, 0, (kept.rows - rows) * size, kept.rows * size);
  keeps_rows_twice_ = true;
  return keep_rows(x, rows, reverse);
}

Quantity LaneBook::keep_rows(const Quantity& x, std::int64_t rows, bool reverse) {
  if (x.is_known()) refuse("goes along what is the same at every step");
  if (x.dtype != DType::kF32) refuse("goes along whole numbers");
  settle(x, false);
  const std::int64_t size = elements(x.shape);
  checked_elements({rows, size});
  const bool computes = graph_.needs_of(x.id).computes && graph_.place_of(x.id) == nullptr;
  const std::size_t lane = add("window", reverse, false);
  LaneDraft& draft = *drafts_[lane];
  const Quantity row = draft.cell.flat(bring(lane, x));
  const Quantity before = draft.cell.gather(kRows, {rows * size});
  keep(lane, kRows, draft.cell.concat({draft.cell.slice(before, 0, size, rows * size), row}, 0),
       std::nullopt);
  if (computes) {  // once
    keep(lane, kAside, row, std::nullopt);
    graph_.place(x.id, place_in(lane, kAside));
  }
  return state_of(lane, kRows, false);
}

Quantity LaneBook::number_of_step(std::int64_t steps) {
  longest_ = std::min(longest_, steps);
  if (!step_) {
    constexpr const char* kNumber = "number";
    const std::size_t lane = add("step", false, false);
    CellWriter& cell = drafts_[lane]->cell;
    const Quantity next = cell.add(cell.gather(kNumber, {1}), known_reals({}, {1}));
    keep(lane, kNumber, next, known_reals({1}, {-1}));
    step_ = graph().as_id(state_of(lane, kNumber, false));
  }
  return *step_;
}

// By a lane that keeps rows from the end anyway, if there is one.
const Quantity& LaneBook::left() {
  if (!left_) {
    constexpr const char* kLeft = "left";
    const auto counts = [](const auto& draft) { return draft->reverse && draft->states.contains(kRows); };
    const auto found = std::find_if(drafts_.begin(), drafts_.end(), counts);
    const std::size_t lane =
        found == drafts_.end() ? add(kLeft, true, false) : static_cast<std::size_t>(found - drafts_.begin());
    CellWriter& cell = drafts_[lane]->cell;
    keep(lane, kLeft, cell.add(cell.gather(kLeft, {1}), known_reals({}, {1})), known_reals({1}, {-1}));
    left_ = state_of(lane, kLeft, false);
  }
  return *left_;
}

Quantity LaneBook::count(std::int64_t rows, std::int64_t missing) {
  CellWriter& w = graph();
  const Quantity steps = w.add(at_end(left(), SequenceEnd::kFirst), known_reals({}, {1}));
  const Quantity all = w.mul(steps, known_reals({}, {static_cast<float>(rows)}));
  return w.reshape(w.sub(all, known_reals({}, {static_cast<float>(missing)})), {});
}

Quantity LaneBook::is_there(std::int64_t rows, std::int64_t missing) {
  CellWriter& w = graph();
  const Quantity least = known_reals({}, {static_cast<float>(missing)});
  if (rows == 1) return w.pointwise("greater_equal", {left(), least});
  std::vector<float> behind;  // in the step itself
  for (std::int64_t row = rows; row-- > 0;) behind.push_back(static_cast<float>(row));
  const Quantity all = w.add(w.mul(left(), known_reals({}, {static_cast<float>(rows)})),
                             known_reals({rows}, std::move(behind)));
  return w.pointwise("greater_equal", {all, least});
}

// A lane that holds it.
Quantity LaneBook::last_there(const Quantity& x, std::int64_t missing) {
  if (x.is_known() || missing == 0) return at_end(x, SequenceEnd::kLast);
  if (x.dtype != DType::kF32) refuse("picks a whole number at the end of what was made shorter");
  const Quantity there = is_there(1, missing);
  const std::size_t lane = begin("hold", {x, there}, false);
  CellWriter& cell = drafts_[lane]->cell;
  const Quantity row = cell.flat(bring(lane, x));
  const Quantity before = cell.gather(kAside, row.shape);
  keep(lane, kAside, cell.pointwise("select", {bring(lane, there), row, before}), std::nullopt);
  return graph().reshape(state_of(lane, kAside, true), x.shape);
}

bool LaneBook::is_number_of_step(const Quantity& x) const {
  if (!step_ || x.is_known()) return false;
  const Operator& op = graph_.writer().maker(x.id);
  return x.id == step_->id || (op.is(kReshapeOp) && op.inputs[0] == step_->id);
}

Quantity LaneBook::over_all(const Quantity& x, std::string_view op) {
  // Of such a value there is one row, and a sum would be that of one step.
  if (x.is_known() || (op == "segment_sum" && !graph_.is_stepwise(x.id)))
    refuse("goes over what is the same at every step");
  if (x.dtype != DType::kF32) refuse("goes over whole numbers of all steps: make floats of them first");
  settle(x, false);
  const Operator& maker = graph().maker(x.id);
  const bool is_reshaped = maker.is(kReshapeOp) && graph_.place_of(maker.inputs[0]) != nullptr;
  const ValueId kept = is_reshaped ? maker.inputs[0] : x.id;
  if (graph_.place_of(kept) == nullptr) keep_aside(x);
  const StatePlace place = *graph_.place_of(kept);
  const std::size_t lane = add("all", false, true);
  LaneDraft& draft = *drafts_[lane];
  draft.all = place.lane;
  const Quantity rows = draft.cell.emit({.def = &kGatherAllOp, .name = place.state}, {elements(x.shape)});
  const Quantity made = draft.cell.apply(op, {rows}, {}, rows.shape);
  draft.cell.scatter(kAside, made);
  draft.states[kAside] = made;
  return graph().reshape(state_of(lane, kAside, false), x.shape);
}

LaneBook::AllRows LaneBook::read_all(const std::string& name, bool once,
                                     const std::vector<Quantity>& values) {
  std::vector<Quantity> parts;
  parts.reserve(values.size());
  for (const Quantity& value : values) parts.push_back(graph().as_f32(graph().flat(value)));
  const Quantity all = graph().concat(parts, 0);
  settle(all, false);
  if (graph_.place_of(all.id) == nullptr) keep_aside(all);
  const StatePlace place = *graph_.place_of(all.id);
  AllRows read{.lane = add(name, false, once)};
  drafts_[read.lane]->all = place.lane;
  CellWriter& w = drafts_[read.lane]->cell;
  const Quantity rows = w.emit({.def = &kGatherAllOp, .name = place.state}, all.shape);
  std::int64_t at = 0;
  for (const Quantity& part : parts) {
    read.values.push_back(w.slice(rows, 0, at, at + elements(part.shape)));
    at += elements(part.shape);
  }
  return read;
}

// The lane's answer.
Quantity LaneBook::weighed(std::size_t lane, const Quantity& scores, const Quantity& values,
                           const Shape& shape) {
  LaneDraft& draft = *drafts_[lane];
  CellWriter& w = draft.cell;
  const Quantity shares = w.apply("segment_softmax", {scores}, {}, scores.shape);
  const Quantity each = w.apply("mul", {shares, values}, {}, shape);
  const Quantity sum = w.flat(w.apply("segment_sum", {each}, {}, shape));
  w.scatter(kAnswer, sum);
  draft.states[kAnswer] = sum;
  return graph().reshape(state_of(lane, kAnswer, false), shape);
}

// ---- Pairs of steps ----

void LaneBook::settle_all(const std::vector<ValueId>& values) {
  for (const ValueId value : values) settle(graph().value_of(value), false);
}

Quantity LaneBook::attended(const Quantity& scores, const Quantity& values) {
  const PairLeaves::Parts parts = pairs_.parts_of(scores);
  settle_all(parts.own);
  std::vector<Quantity> of_all;
  for (const ValueId id : parts.leaves) of_all.push_back(pairs_.leaf(id).x);
  of_all.push_back(values);
  const AllRows all = read_all("attention", false, of_all);
  settle_all(parts.own);  // what the lane of all rows has computed of it now
  StepGraph::Needs needs;
  for (const ValueId id : parts.own) needs.add(graph_.needs_of(id));
  if (!needs.fit()) refuse("reads too many values that other lanes keep");
  CellWriter& w = drafts_[all.lane]->cell;
  for (std::size_t i = 0; i < parts.leaves.size(); ++i) {
    const auto& [x, row] = pairs_.leaf(parts.leaves[i]);
    Quantity made = all.values[i];
    if (row) {
      const std::int64_t width = row->shape.back();
      const Shape all_heads{elements(x.shape) / width, width}, own_heads{elements(row->shape) / width, width};
      const Quantity own = w.reshape(bring(all.lane, *row), own_heads);
      made = w.flat(
          w.apply("dot", {w.reshape(made, all_heads), own}, {}, {std::max(all_heads[0], own_heads[0]), 1}));
    } else if (x.dtype != DType::kF32) {
      made = w.as_id(made);
    }
    brought_[all.lane][parts.leaves[i]] = made;
  }
  const Quantity made = bring(all.lane, scores);
  const std::int64_t width = values.shape.back(), of_scores = elements(made.shape),
                     of_values = elements(values.shape) / width;
  return weighed(all.lane, w.reshape(made, {of_scores, 1}), w.reshape(all.values.back(), {of_values, width}),
                 {std::max(of_scores, of_values), width});
}

Quantity LaneBook::weighed_sum(const Quantity& scores, const Quantity& values) {
  Shape shape;
  if (!spread_shape(scores.shape, values.shape, shape)) refuse("weighs what does not fit");
  const AllRows all = read_all("all", true, {scores, values});
  CellWriter& w = drafts_[all.lane]->cell;
  return weighed(all.lane, w.reshape(all.values[0], scores.shape), w.reshape(all.values[1], values.shape),
                 shape);
}

// ---- Results ----

// Where a lane keeps just this, its cell emits it.
bool LaneBook::push_from_lane(const std::string& name, const Quantity& x, bool every) {
  const Operator& op = graph().maker(x.id);
  const StatePlace* place = graph_.place_of(x.id);
  if (place == nullptr && op.is(kReshapeOp)) place = graph_.place_of(op.inputs[0]);
  if (place == nullptr) return false;
  LaneDraft& draft = *drafts_[place->lane];
  const Quantity& kept = draft.states.at(place->state);
  const bool of_end = place->last || draft.once;
  if (kept.shape != x.shape || of_end == every || draft.pushes.size() == kMaxPushes) return false;
  draft.cell.push(name, static_cast<std::uint32_t>(draft.pushes.size()), kept);
  draft.pushes.push_back({name, every});
  return true;
}

std::size_t LaneBook::head_for(const Quantity& x, bool every) {
  const auto found = heads_.find(every);
  if (found != heads_.end()) {
    const LaneDraft& draft = *drafts_[found->second];
    StepGraph::Needs needs = graph_.needs_of(x.id);
    needs.lanes.insert(draft.from.begin(), draft.from.end());
    needs.inputs.insert(draft.pulls.begin(), draft.pulls.end());
    if (draft.pushes.size() < kMaxPushes && needs.fit()) return found->second;
  }
  return heads_[every] = add("output", false, !every);
}

void LaneBook::output(const std::string& name, const Quantity& x, bool every) {
  if (x.is_known()) refuse("the output " + in_quotes(name) + " is the same for everybody");
  if (push_from_lane(name, x, every)) return;
  settle(x, false);
  const std::size_t lane = head_for(x, every);
  const Quantity value = bring(lane, x);
  LaneDraft& draft = *drafts_[lane];
  draft.cell.push(name, static_cast<std::uint32_t>(draft.pushes.size()), value);
  draft.pushes.push_back({name, every});
}

}  // namespace volvox::onnx_import
