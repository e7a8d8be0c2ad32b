#include "import/onnx/sequence/lane_book.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "cells/ir/lane_plan.h"
#include "cells/ops/ops.h"

namespace volvox::onnx_import {
namespace {

constexpr std::uint32_t kMaxBatch = 256;
constexpr const char* kAside = "x";  // the state of a lane that only computes something

bool is_one_of(const Operator& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op.def->name) != names.end();
}

}  // namespace

void LaneBook::Needs::add(const Needs& other) {
  lanes.insert(other.lanes.begin(), other.lanes.end());
  inputs.insert(other.inputs.begin(), other.inputs.end());
  computes = computes || other.computes;
}

// A cell's gather 0 is of its own lane.
bool LaneBook::Needs::fit() const {
  return lanes.size() < kMaxGathers && inputs.size() <= kMaxPulls;
}

Quantity LaneBook::input(const std::string& name, DType dtype, const Shape& row) {
  inputs_.push_back(name);
  return graph_.pull(name, static_cast<std::uint32_t>(inputs_.size() - 1), dtype, row);
}

std::size_t LaneBook::add(std::string name, bool reverse, bool once) {
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

// ---- What values of the graph are made of ----

bool LaneBook::is_leaf(ValueId value) const {
  return places_.contains(value) || graph_.maker(value).is(kPullOp);
}

bool LaneBook::is_stepwise(ValueId value) {
  while (stepwise_.size() < graph_.values()) {
    const auto id = static_cast<ValueId>(stepwise_.size());
    const Operator& op = graph_.maker(id);
    bool stepwise = op.is(kPullOp);
    if (op.is(kGatherOp)) {
      const StatePlace& place = places_.at(id);
      stepwise = !place.last && !drafts_[place.lane]->once;
    }
    for (const ValueId input : op.inputs) stepwise = stepwise || stepwise_[input];
    stepwise_.push_back(stepwise);
  }
  return stepwise_[value];
}

template <class Stop>
std::vector<ValueId> LaneBook::closure(ValueId value, const Stop& stop) const {
  std::set<ValueId> open{value};
  std::vector<ValueId> found;
  while (!open.empty()) {
    const ValueId id = *open.rbegin();
    open.erase(id);
    found.push_back(id);
    if (is_leaf(id) || stop(id)) continue;
    const Operator& op = graph_.maker(id);
    open.insert(op.inputs.begin(), op.inputs.end());
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::map<ValueId, LaneBook::Needs> LaneBook::needs_below(ValueId value) const {
  std::map<ValueId, Needs> all;
  for (const ValueId id : closure(value, [](ValueId) { return false; })) {
    Needs& needs = all[id];
    const Operator& op = graph_.maker(id);
    if (const auto place = places_.find(id); place != places_.end()) {
      needs.lanes.emplace(place->second.lane, place->second.last);
    } else if (op.is(kPullOp)) {
      needs.inputs.insert(op.index);
    } else {
      needs.computes = !is_one_of(op, {"embed", "reshape", "concat_axis"});
      for (const ValueId input : op.inputs) needs.add(all.at(input));
    }
  }
  return all;
}

// ---- What gets a lane of its own ----

std::size_t LaneBook::set_aside(const Quantity& x, bool reverse) {
  const bool once = !is_stepwise(x.id);
  const std::size_t lane = add(once ? "end" : "part", reverse, once);
  LaneDraft& draft = *drafts_[lane];
  const Quantity value = draft.cell.flat(bring(lane, x));
  draft.cell.scatter(kAside, value);
  draft.states[kAside] = value;
  return lane;
}

// Until one cell can compute it: gives lanes to what it is computed of.
void LaneBook::split_up(ValueId value) {
  const auto aside = [&](const Quantity& x) {
    places_[x.id] = {.lane = set_aside(x, false), .state = kAside};
  };
  for (;;) {
    const auto needs = needs_below(value);
    const auto found =
        std::find_if(needs.begin(), needs.end(), [](const auto& one) { return !one.second.fit(); });
    if (found == needs.end()) return;
    const Operator op = graph_.maker(found->first);
    const auto reads_several = [&](ValueId id) {
      return needs.at(id).lanes.size() + needs.at(id).inputs.size() > 1;
    };
    const auto input = std::find_if(op.inputs.begin(), op.inputs.end(), reads_several);
    if (input != op.inputs.end()) {
      aside(graph_.value_of(*input));
      continue;
    }
    // Each of them is one lane's: some are put together before the others.
    if (op.def->name != "concat_axis") refuse("reads too many values that other lanes keep");
    std::vector<Quantity> groups;
    for (std::size_t i = 0; i < op.inputs.size(); i += kMaxGathers - 1) {
      std::vector<Quantity> group;
      for (std::size_t k = i; k < std::min(i + kMaxGathers - 1, op.inputs.size()); ++k)
        group.push_back(graph_.value_of(op.inputs[k]));
      groups.push_back(graph_.concat(group, static_cast<std::size_t>(op.attributes.integers[0])));
      if (group.size() > 1) aside(groups.back());
    }
    const Quantity whole = graph_.concat(groups, static_cast<std::size_t>(op.attributes.integers[0]));
    split_up(whole.id);
    aside(whole);
    places_[found->first] = places_.at(whole.id);
  }
}

void LaneBook::settle(const Quantity& x, bool for_recurrence) {
  if (x.is_known()) return;
  split_up(x.id);
  if (for_recurrence && needs_below(x.id).at(x.id).computes)
    places_[x.id] = {.lane = set_aside(x, false), .state = kAside};
}

// ---- Cells of lanes ----

std::size_t LaneBook::begin(const std::string& name, const std::vector<Quantity>& reads, bool reverse) {
  Needs needs;
  for (const Quantity& x : reads) {
    settle(x, true);
    if (!x.is_known()) needs.add(needs_below(x.id).at(x.id));
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

// The operator of a value of the graph once more, over what its inputs have become.
Quantity LaneBook::remade(CellWriter& to, ValueId value, const std::map<ValueId, Quantity>& known) const {
  Operator op = graph_.maker(value);
  const Quantity as = graph_.value_of(value);
  std::vector<Quantity> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(known.at(input));
  if (op.is(kReshapeOp)) return to.reshape(inputs.front(), as.shape);
  const auto leads = [&](std::size_t axis) {
    return std::all_of(as.shape.begin(), as.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                       [](std::int64_t extent) { return extent == 1; });
  };
  Shape shape = as.shape;
  // Vectors, one after another: products can read them where they lie.
  if (&to != &graph_ && op.def->name == "concat_axis" && as.dtype == DType::kF32 &&
      leads(static_cast<std::size_t>(op.attributes.integers[0]))) {
    op.def = &kConcatOp;
    op.attributes = {};
    for (Quantity& input : inputs) input = to.flat(input);
    shape = {elements(as.shape)};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) op.inputs[i] = inputs[i].id;
  return to.reshape(to.emit(std::move(op), std::move(shape), as.dtype), as.shape);
}

Quantity LaneBook::bring(std::size_t lane, const Quantity& x) {
  if (x.is_known()) {
    Quantity plain = x;
    plain.steps.reset();
    return plain;
  }
  LaneDraft& draft = *drafts_[lane];
  auto& brought = brought_[lane];
  for (const ValueId id : closure(x.id, [&](ValueId one) { return brought.contains(one); })) {
    if (brought.contains(id)) continue;
    if (const auto place = places_.find(id); place != places_.end()) {
      brought[id] = gathered(draft, place->second, graph_.value_of(id));
    } else if (const Operator& op = graph_.maker(id); op.is(kPullOp)) {
      auto found = std::find(draft.pulls.begin(), draft.pulls.end(), op.index);
      if (found == draft.pulls.end()) found = draft.pulls.insert(found, op.index);
      const Quantity as = graph_.value_of(id);
      brought[id] = draft.cell.pull(op.name, static_cast<std::uint32_t>(found - draft.pulls.begin()),
                                    as.dtype, as.shape);
    } else {
      brought[id] = remade(draft.cell, id, brought);
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

Quantity LaneBook::leaf(StatePlace place, const Shape& shape, DType dtype) {
  if (const auto made = leaves_.find(place); made != leaves_.end())
    return graph_.reshape(made->second, shape);
  const Quantity flat = graph_.gather(place.state, {elements(shape)}, 0, dtype);
  places_[flat.id] = place;
  leaves_[std::move(place)] = flat;
  return graph_.reshape(flat, shape);
}

Quantity LaneBook::state_of(std::size_t lane, const std::string& state, bool last) {
  const Quantity& kept = drafts_[lane]->states.at(state);
  return leaf({.lane = lane, .last = last, .state = state}, kept.shape, kept.dtype);
}

// Lanes end at the end of the sequence, or where they run in reverse at its beginning; what others keep, and
// inputs, are handed on to a lane that does.
Quantity LaneBook::end_of(ValueId value, SequenceEnd end) {
  const Quantity as = graph_.value_of(value);
  const bool reverse = end == SequenceEnd::kFirst;
  const auto place = places_.find(value);
  if (place != places_.end() && drafts_[place->second.lane]->reverse == reverse) {
    StatePlace last = place->second;
    last.last = true;
    return leaf(std::move(last), as.shape, as.dtype);
  }
  return leaf({.lane = set_aside(as, reverse), .last = true, .state = kAside}, as.shape, as.dtype);
}

Quantity LaneBook::at_end(const Quantity& x, SequenceEnd end) {
  if (x.is_known()) return x;
  std::map<ValueId, Quantity> made;
  const auto is_whole = [&](ValueId id) { return !is_stepwise(id) || graph_.maker(id).is(kEmbedOp); };
  for (const ValueId id : closure(x.id, is_whole)) {
    const auto known = ends_.find({id, end});
    if (known != ends_.end()) {
      made[id] = known->second;
    } else if (!is_stepwise(id)) {
      made[id] = graph_.value_of(id);
    } else if (is_leaf(id) || graph_.maker(id).is(kEmbedOp)) {
      made[id] = end_of(id, end);
    } else {
      made[id] = remade(graph_, id, made);
    }
    ends_[{id, end}] = made[id];
  }
  return made.at(x.id);
}

Quantity LaneBook::over_all(const Quantity& x, std::string_view op) {
  if (x.is_known()) refuse("goes over what is the same at every step");
  settle(x, false);
  const Operator& maker = graph_.maker(x.id);
  const ValueId kept = maker.is(kReshapeOp) && places_.contains(maker.inputs[0]) ? maker.inputs[0] : x.id;
  if (!places_.contains(kept)) places_[kept] = {.lane = set_aside(x, false), .state = kAside};
  const StatePlace place = places_.at(kept);
  const std::size_t lane = add("all", false, true);
  LaneDraft& draft = *drafts_[lane];
  draft.all = place.lane;
  const Quantity rows = draft.cell.emit({.def = &kGatherAllOp, .name = place.state}, {elements(x.shape)});
  const Quantity made = draft.cell.apply(op, {rows}, {}, rows.shape);
  draft.cell.scatter(kAside, made);
  draft.states[kAside] = made;
  return graph_.reshape(state_of(lane, kAside, false), x.shape);
}

// ---- Results ----

// Where a lane keeps just this, its cell emits it.
bool LaneBook::push_from_lane(const std::string& name, const Quantity& x, bool every) {
  const Operator& op = graph_.maker(x.id);
  auto place = places_.find(x.id);
  if (place == places_.end() && op.is(kReshapeOp)) place = places_.find(op.inputs[0]);
  if (place == places_.end()) return false;
  LaneDraft& draft = *drafts_[place->second.lane];
  const Quantity& kept = draft.states.at(place->second.state);
  const bool of_end = place->second.last || draft.once;
  if (kept.shape != x.shape || of_end == every || draft.pushes.size() == kMaxPushes) return false;
  draft.cell.push(name, static_cast<std::uint32_t>(draft.pushes.size()), kept);
  draft.pushes.push_back({name, every});
  return true;
}

std::size_t LaneBook::head_for(const Quantity& x, bool every) {
  const auto found = heads_.find(every);
  if (found != heads_.end()) {
    const LaneDraft& draft = *drafts_[found->second];
    Needs needs = needs_below(x.id).at(x.id);
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

// ---- The end ----

std::vector<std::size_t> LaneBook::read_by(std::size_t lane) const {
  const LaneDraft& draft = *drafts_[lane];
  std::vector<std::size_t> lanes;
  for (const auto& [from, last] : draft.from) lanes.push_back(from);
  if (draft.all != LaneDraft::kNoLane) lanes.push_back(draft.all);
  if (draft.initial != LaneDraft::kNoLane) lanes.push_back(draft.initial);
  return lanes;
}

std::set<std::size_t> LaneBook::live() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    if (!drafts_[i]->pushes.empty()) open.push_back(i);
  }
  std::set<std::size_t> found;
  while (!open.empty()) {
    const std::size_t lane = open.back();
    open.pop_back();
    if (!found.insert(lane).second) continue;
    for (const std::size_t from : read_by(lane)) open.push_back(from);
  }
  return found;
}

// Each after those that it reads.
std::vector<std::size_t> LaneBook::in_order() const {
  std::vector<std::size_t> order;
  std::set<std::size_t> done;
  const std::function<void(std::size_t)> visit = [&](std::size_t lane) {
    if (!done.insert(lane).second) return;
    for (const std::size_t from : read_by(lane)) visit(from);
    order.push_back(lane);
  };
  for (const std::size_t lane : live()) visit(lane);
  return order;
}

LaneBook::Written LaneBook::finish() const {
  Written written;
  std::string once = kOnceSequence;
  while (std::find(inputs_.begin(), inputs_.end(), once) != inputs_.end()) once += '_';
  std::set<std::string> used;
  bool any_once = false;
  for (const std::size_t number : in_order()) {
    const LaneDraft& draft = *drafts_[number];
    CellWriter::Written cell = draft.cell.finish();
    for (CellWriter::Weight& weight : cell.weights) {
      if (used.insert(weight.name).second) written.weights.push_back(std::move(weight));
    }
    LaneDefinition lane{
        .cell = draft.name, .over = draft.once ? once : inputs_.front(), .reverse = draft.reverse};
    for (const auto& [from, last] : draft.from)
      lane.from.push_back(drafts_[from]->name + (last ? ":last" : ""));
    if (draft.all != LaneDraft::kNoLane) lane.from.push_back(drafts_[draft.all]->name + ":all");
    if (draft.initial != LaneDraft::kNoLane) lane.initial = drafts_[draft.initial]->name;
    for (const std::uint32_t input : draft.pulls) lane.pull.push_back(inputs_[input]);
    for (const LaneDraft::Push& push : draft.pushes) lane.push.push_back(push.output);
    std::vector<std::string> reads = lane.pull;
    reads.insert(reads.end(), lane.from.begin(), lane.from.end());
    written.report += "lane " + draft.name +
                      (draft.reverse ? ", in reverse"
                       : draft.once  ? ", once"
                                     : "") +
                      ": " + std::to_string(cell.cell.operators.size()) + " operators" +
                      (reads.empty() ? "" : " over " + listed(reads)) + '\n';
    any_once = any_once || draft.once;
    written.cells.push_back({.name = draft.name, .kind = std::string(kFileCell), .max_batch = kMaxBatch});
    written.cells.back().given = std::make_shared<const Cell>(std::move(cell.cell));
    written.lanes.push_back(std::move(lane));
  }
  if (any_once) written.sequences.push_back({.name = once, .once = true});
  return written;
}

}  // namespace volvox::onnx_import
