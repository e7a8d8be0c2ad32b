#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "import/onnx/known.h"
#include "import/onnx/sequence/attention.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"

namespace volvox::onnx_import {
namespace {

std::int64_t extents(const Shape& shape, std::size_t begin, std::size_t end) {
  return elements(
      {shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.begin() + static_cast<std::ptrdiff_t>(end)});
}

// x in another shape, in which the sequence has this axis. Nothing may go across it.
void reshaped(StepCall& call, const Shape& shape, std::size_t axis) {
  const Quantity& x = call.in(0);
  const std::size_t steps = *x.steps;
  if (extents(x.shape, 0, steps) != extents(shape, 0, axis))
    refuse("mixes the axis of the sequence with others: " + to_string(x.shape) + " becomes " +
           to_string(shape));
  call.make(call.node.writer.reshape(x, shape), axis);
}

// Whether the last axis, whose extent is left open, has all steps of several channels, and else nothing.
bool joins(StepCall& call, Shape shape, std::optional<std::size_t> rest) {
  const Quantity& x = call.in(0);
  const std::size_t steps = *x.steps;
  if (rest != shape.size() - 1 || steps + 1 != x.rank() || shape.size() == kMaxRank) return false;
  const std::int64_t groups = extents(shape, 0, *rest), channels = extents(x.shape, 0, steps);
  if (groups < 1 || channels % groups != 0) return false;
  shape[*rest] = channels / groups;
  shape.push_back(call.rows(0));
  reshaped(call, shape, *rest + 1);
  call.node.outputs.back().joined = true;
  return true;
}

// Numbers of pairs: an axis may be left open only where the steps are.
void reshape_of_pairs(StepCall& call) {
  Shape shape = call.node.integers_in(1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool of_steps = i + 2 >= shape.size();
    if (of_steps && shape[i] != open_length(1) && shape[i] != -1)
      refuse("puts the steps of the sequence into one axis with others");
    if (of_steps) shape[i] = 1;
  }
  reshape_pairs(call, shape);
}

void reshape(StepCall& call) {
  if (call.has_pairs()) return reshape_of_pairs(call);
  const std::size_t steps = call.only_steps();
  const Quantity& x = call.in(0);
  Shape shape = call.node.integers_in(1);
  std::optional<std::size_t> rest, axis;
  const auto is_axis = [&](std::size_t i) {
    if (axis) refuse("has the sequence along two axes");
    axis = i;
    shape[i] = call.rows(0);
  };
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && call.node.integer("allowzero", 0) == 0) {
      if (i >= x.rank()) refuse("keeps an axis that is not there");
      if (i == steps) {
        is_axis(i);
      } else {
        shape[i] = x.shape[i];
      }
    } else if (shape[i] == open_length(call.rows(0)) - call.missing) {
      is_axis(i);
    } else if (shape[i] == -1) {
      if (rest) refuse("two extents are left open");
      rest = i;
      shape[i] = 1;
    } else if (shape[i] < 1 || shape[i] > kMaxConstantElements) {
      refuse("its shape is " + to_string(shape));
    }
  }
  const std::int64_t others = checked_elements(shape), all = checked_elements(x.shape);
  if (rest && !axis && others * call.rows(0) == all) {
    axis = rest;
    shape[*rest] = call.rows(0);
  } else if (rest && all % others == 0) {
    shape[*rest] = all / others;
  }
  if (!axis && joins(call, shape, rest)) return;
  if (!axis) refuse("puts the steps of the sequence into one axis with others");
  reshaped(call, shape, *axis);
}

void flatten(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const Quantity& x = call.in(0);
  const std::int64_t written = call.node.integer("axis", 1);
  const std::size_t middle =
      written == static_cast<std::int64_t>(x.rank()) ? x.rank() : NodeCall::axis(written, x.rank());
  const Shape shape{extents(x.shape, 0, middle), extents(x.shape, middle, x.rank())};
  const std::size_t axis = steps < middle ? 0 : 1;
  if (shape[axis] != call.rows(0)) refuse("puts the steps of the sequence into one axis with others");
  reshaped(call, shape, axis);
}

void squeeze(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const Quantity& x = call.in(0);
  const auto axes = call.node.integers_of("axes", 1);
  std::vector<bool> dropped(x.rank(), false);
  for (std::size_t axis = 0; axis < x.rank(); ++axis)
    dropped[axis] = !axes && x.shape[axis] == 1 && !(call.has_pairs() ? axis >= steps : axis == steps);
  for (const std::int64_t written : axes.value_or(std::vector<std::int64_t>())) {
    const std::size_t axis = NodeCall::axis(written, x.rank());
    if (axis == steps || (call.has_pairs() && axis > steps)) refuse("drops the axis of the sequence");
    if (x.shape[axis] != 1)
      refuse("axis " + std::to_string(axis) + " of " + to_string(x.shape) + " is longer than 1");
    dropped[axis] = true;
  }
  Shape shape;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i == steps) axis = shape.size();
    if (!dropped[i]) shape.push_back(x.shape[i]);
  }
  if (call.has_pairs()) return reshape_pairs(call, shape);
  reshaped(call, shape, axis);
}

void unsqueeze(StepCall& call) {
  const std::size_t steps = call.only_steps();
  const Quantity& x = call.in(0);
  const auto axes = call.node.integers_of("axes", 1);
  if (!axes) refuse("names no axes");
  const std::size_t rank = x.rank() + axes->size();
  if (rank > kMaxRank) refuse("has too many axes");
  std::vector<bool> added(rank, false);
  for (const std::int64_t written : *axes) {
    const std::size_t axis = NodeCall::axis(written, rank);
    if (added[axis]) refuse("names an axis twice");
    added[axis] = true;
  }
  Shape shape;
  std::size_t from = 0, axis = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!added[i] && from == steps) axis = i;
    shape.push_back(added[i] ? 1 : x.shape[from++]);
  }
  if (call.has_pairs() && (added[rank - 1] || added[rank - 2]))
    refuse("puts an axis behind, or between, those of pairs of steps");
  if (call.has_pairs()) return reshape_pairs(call, shape);
  reshaped(call, shape, axis);
}

void transpose(StepCall& call) {
  if (call.has_pairs()) return transpose_pairs(call);
  const std::size_t steps = call.only_steps();
  const std::size_t rank = call.in(0).rank();
  const auto order = call.node.integers("perm");
  if (order.empty()) return call.one_step(rank - 1 - steps);
  const auto found = std::find(order.begin(), order.end(), static_cast<std::int64_t>(steps));
  if (found == order.end()) refuse("its axes are not those of " + to_string(call.in(0).shape));
  call.one_step(static_cast<std::size_t>(found - order.begin()));
}

void concat(StepCall& call) {
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", 0), call.in(0).rank());
  std::optional<std::size_t> steps;
  for (std::size_t i = 0; i < call.node.inputs(); ++i) steps = call.steps(i) ? call.steps(i) : steps;
  if (!steps) refuse("depends on the length of the sequence, which may be any");
  if (*steps == axis) refuse("puts something before or behind the steps of the sequence");
  for (std::size_t i = 0; i < call.node.inputs(); ++i) {
    if (call.steps(i) != steps) refuse("puts steps of the sequence beside what has other steps, or none");
  }
  call.one_step(*steps);
}

void split(StepCall& call) {
  const std::size_t steps = call.only_steps();
  if (NodeCall::axis(call.node.integer("axis", 0), call.in(0).rank()) == steps)
    refuse("takes a sequence apart whose length may be any");
  call.one_step(steps);
}

// ---- Ends of the sequence ----

// A place along the first input, from its end, if it is written by its length.
std::optional<std::int64_t> place_from_end(const StepCall& call, std::int64_t place) {
  if (!is_open(place)) return std::nullopt;
  if (rows_of_open(place) != call.rows(0)) refuse("takes as many rows of a sequence as another one has");
  return from_the_end(place) + call.missing;
}

bool is_last(const StepCall& call, std::int64_t place) {
  return place == -1 || place_from_end(call, place) == -1;
}

bool is_behind(const StepCall& call, std::int64_t place) {
  constexpr std::int64_t kFar =
      std::numeric_limits<std::int32_t>::max();  // "to the end", as exporters write it
  return place >= kFar && place_from_end(call, place).value_or(0) >= 0;
}

// What a slice takes along the sequence.
enum class Taken : std::uint8_t { kAll, kTurned, kFirst, kLast, kMost };

// All but so many rows at its beginning, and at its end.
struct Part {
  Taken taken = Taken::kAll;
  std::int64_t begin = 0, end = 0;
};

Part taken_by(const StepCall& call, std::int64_t begin, std::int64_t end, std::int64_t step) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::min() + std::int64_t{2};
  if (step == 1 && begin == 0 && is_behind(call, end)) return {Taken::kAll};
  if (step == -1 && (is_last(call, begin) || is_behind(call, begin)) && end <= kFar) return {Taken::kTurned};
  if (step == 1 && is_last(call, begin) && is_behind(call, end)) return {Taken::kLast};
  if (step == 1 && begin == 0 && end == 1) return {Taken::kFirst};
  const std::int64_t left = is_open(end) ? -*place_from_end(call, end) : end < 0 ? -end : 0;
  const bool most = step == 1 && begin >= 0 && begin <= kMaxReach && left >= 0 && left <= kMaxReach &&
                    (left > 0 || is_behind(call, end));
  if (most) return {Taken::kMost, begin, left};
  refuse(
      "takes a part of a sequence whose length may be any: its first step, its last, or all but some of the "
      "first and the last can be picked");
}

// Of what was made longer: just the steps.
Part cut(const StepCall& call, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const auto& [before, after, zeros] = call.in(0).margin;
  const bool ends =
      after == 0 ? is_behind(call, end) : end == -after || (before == 0 && end == open_length(call.rows(0)));
  if (step != 1 || begin != before || !ends) refuse("takes other steps of a sequence that was made longer");
  return {Taken::kAll};
}

// The row at that end of what may be turned around.
Quantity end_of(const StepCall& call, const Quantity& x, bool last) {
  if (last && call.missing > 0) return call.lanes.last_there(x, call.missing);
  return call.lanes.at_end(x, last != call.turned ? SequenceEnd::kLast : SequenceEnd::kFirst);
}

// Its steps come so much sooner, and the last ones have no row.
void take_most(StepCall& call, const Quantity& x, std::size_t steps, const Part& part) {
  if (call.turned) refuse("makes a sequence shorter that is turned around");
  const std::int64_t rows = x.shape[steps];
  if (part.begin > 0) call.use.as_steps = call.use.anew = true;
  Quantity made = part.begin > 0 ? call.around(x, steps, part.begin, part.begin + rows - 1) : x;
  call.missing += part.begin + part.end;
  call.make(std::move(made), steps);
}

// As many rows of a table as there are steps: each has its own.
void slice_of_known(StepCall& call) {
  Quantity x = call.in(0);
  const auto starts = call.node.integers_of("starts", 1), ends = call.node.integers_of("ends", 2),
             axes = call.node.integers_of("axes", 3), by = call.node.integers_of("steps", 4);
  const auto is_one = [](const auto& numbers, std::int64_t number) {
    return numbers && numbers->size() == 1 && (*numbers)[0] == number;
  };
  const bool of_steps = ends && ends->size() == 1 && is_open((*ends)[0]) && rows_of_open((*ends)[0]) == 1 &&
                        from_the_end((*ends)[0]) <= 0;
  if (!is_one(starts, 0) || !of_steps || (by && !is_one(by, 1)) || (axes && axes->size() != 1))
    refuse(
        "takes so many of what is known as depend on the length of the sequence, but not as many as it has "
        "steps");
  const std::size_t axis = axes ? NodeCall::axis((*axes)[0], x.rank()) : 0;
  if (x.shape.empty()) refuse("takes rows of nothing");
  call.missing = -from_the_end((*ends)[0]);
  std::vector<std::int64_t> order{static_cast<std::int64_t>(axis)};
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) order.push_back(static_cast<std::int64_t>(i));
  CellWriter& w = call.node.writer;
  const std::int64_t rows = x.shape[axis];
  if (rows < 1) refuse("takes rows of nothing");
  Shape shape = x.shape;
  shape[axis] = 1;
  if (!x.known->is_real()) {
    const auto& numbers = x.known->integers;
    std::int64_t next = 0;
    const bool counts = std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n == next++; });
    if (counts && next <= rows) return call.make(w.reshape(call.lanes.number_of_step(rows), shape), axis);
    const bool mask = std::all_of(numbers.begin(), numbers.end(), [](auto n) { return n == 0 || n == 1; });
    if (!mask) refuse_length();
    x = known(as_real(x.known));
  }
  const Quantity table = w.reshape(w.transpose(x, order), {rows, elements(x.shape) / rows});
  call.make(w.reshape(w.look_up(table.known, call.lanes.number_of_step(rows)), shape), axis);
}

// The numbers of the steps.
void range(StepCall& call) {
  const auto number = [&](std::size_t input) {
    const KnownTensor known = call.node.known_in(input);
    return !known->is_real() && known->size() == 1 ? known->integers[0] : -1;
  };
  if (number(0) != 0 || number(1) != open_length(1) || number(2) != 1)
    refuse("counts otherwise than the steps of the sequence from 0");
  call.make(call.lanes.number_of_step(kMostExact), 0);
}

// Whether a slice takes of the last axis one for each step of the sequence, which is the axis before.
bool is_for_each_other(const StepCall& call, std::int64_t axis, std::int64_t begin, std::int64_t end,
                       std::int64_t step) {
  const std::size_t rank = call.in(0).rank();
  return NodeCall::axis(axis, rank) + 1 == rank && call.steps(0) == rank - 2 && begin == 0 &&
         end == open_length(1) && step == 1;
}

void slice(StepCall& call) {
  if (!call.steps(0) && call.in(0).is_known() && !has_open(call.in(0))) return slice_of_known(call);
  const std::size_t steps = call.only_steps();
  const Quantity& x = call.in(0);
  const auto starts = call.node.integers_of("starts", 1), ends = call.node.integers_of("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) refuse("its starts and ends are no pairs");
  std::vector<std::int64_t> usual;
  for (std::size_t i = 0; i < starts->size(); ++i) usual.push_back(static_cast<std::int64_t>(i));
  const auto axes = call.node.integers_of("axes", 3).value_or(usual);
  const auto by = call.node.integers_of("steps", 4).value_or(std::vector<std::int64_t>(axes.size(), 1));
  if (axes.size() != starts->size() || by.size() != starts->size())
    refuse("its axes and steps are not as many as its starts");
  std::optional<Part> part;
  Node others = call.node.node;  // the same without the axis of the sequence
  others.attributes.clear();
  std::vector<std::vector<std::int64_t>> kept(4);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (NodeCall::axis(axes[i], x.rank()) == steps) {
      if (part) refuse("names an axis twice");
      part = x.margin.none() ? taken_by(call, (*starts)[i], (*ends)[i], by[i])
                             : cut(call, (*starts)[i], (*ends)[i], by[i]);
      continue;
    }
    if (is_for_each_other(call, axes[i], (*starts)[i], (*ends)[i], by[i])) {
      if (axes.size() != 1) refuse("takes numbers of pairs of steps, and something else at once");
      return pick_pairs(call);
    }
    for (std::size_t k = 0; const std::int64_t number : {(*starts)[i], (*ends)[i], axes[i], by[i]}) {
      if (is_open(number)) refuse_length();
      kept[k++].push_back(number);
    }
  }
  std::vector<std::optional<Quantity>> inputs{x};
  inputs[0]->steps.reset();
  inputs[0]->margin = {};
  if (!x.margin.none() && !part) refuse("takes a part of a sequence that was made longer");
  for (std::vector<std::int64_t>& numbers : kept)
    inputs.emplace_back(known_integers({static_cast<std::int64_t>(numbers.size())}, numbers));
  others.inputs.resize(inputs.size());
  const Quantity made = call.by_rule(others, std::move(inputs)).at(0);
  const Taken taken = part.value_or(Part{}).taken;
  if (taken == Taken::kMost) return take_most(call, made, steps, *part);
  if (taken != Taken::kAll) call.want_one_row(0);
  if (taken == Taken::kTurned && call.missing > 0) refuse("turns around what was made shorter");
  if (taken == Taken::kFirst || taken == Taken::kLast)
    return call.make(end_of(call, made, taken == Taken::kLast), std::nullopt);
  call.make(made, steps, (taken == Taken::kTurned) != call.turned);
}

// Rows of a table for each step, parts of each step, or one step.
void gather(StepCall& call) {
  if (call.has_pairs()) return look_up_pairs(call);
  const Quantity& x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", 0), x.rank());
  if (call.steps(1)) {
    if (call.steps(0) || axis != 0) refuse("looks up steps of the sequence in other steps");
    if (call.lanes.is_number_of_step(call.in(1)) && x.rank() > 0) call.lanes.number_of_step(x.shape[0]);
    return call.one_step(*call.steps(1));
  }
  const std::size_t steps = call.only_steps();
  const std::vector<std::int64_t> places = call.node.integers_in(1);
  const Shape& shape = call.in(1).shape;
  if (axis != steps) return call.one_step(axis < steps ? steps + shape.size() - 1 : steps);
  call.want_one_row(0);
  const bool last = places.size() == 1 && is_last(call, places[0]);
  if (!last && (places.size() != 1 || places[0] != 0))
    refuse("picks steps of a sequence whose length may be any: the first one and the last one can be picked");
  Shape left(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  left.insert(left.end(), shape.begin(), shape.end());
  left.insert(left.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  const Quantity end = end_of(call, x, last);
  call.make(call.node.writer.reshape(end, left), std::nullopt);
}

// ---- Shapes ----

void shape(StepCall& call) {
  Shape all = call.in(0).shape;
  all[*call.in(0).steps] = open_length(call.rows(0)) - call.in(0).missing;
  if (call.has_pairs()) all[*call.in(0).steps + 1] = open_length(1);
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto counted = [&](std::int64_t written) {
    return std::clamp<std::int64_t>(written < 0 ? written + rank : written, 0, rank);
  };
  const std::int64_t begin = counted(call.node.integer("start", 0)),
                     end = counted(call.node.integer("end", rank));
  Shape numbers;
  if (begin < end) numbers.assign(all.begin() + begin, all.begin() + end);
  const auto count = static_cast<std::int64_t>(numbers.size());
  call.make(known_integers({count}, std::move(numbers)), std::nullopt);
}

// Whether that has the steps along both of the last two axes.
bool wants_pairs(const StepCall& call, const Shape& wanted, std::size_t input) {
  const auto has_steps = [&](std::size_t from_last) {
    return input > 0 && call.steps(0) &&
           (call.has_pairs() || call.in(0).rank() - *call.steps(0) == from_last);
  };
  const auto is_steps = [&](std::size_t from_last) {
    const std::int64_t extent = wanted[wanted.size() - from_last];
    return extent == open_length(1) || (extent == 1 && has_steps(from_last));
  };
  return wanted.size() >= 2 && is_steps(1) && is_steps(2);
}

// The same at every step: its own rule with an extent of 1 where the length stands.
void filled(StepCall& call, std::size_t input) {
  Shape wanted = call.node.integers_in(input);
  std::optional<std::size_t> from_last;
  const auto is_axis = [&](std::size_t here) {
    if (from_last && *from_last != here) refuse("has the sequence along two axes");
    from_last = here;
  };
  if (wants_pairs(call, wanted, input)) {
    std::fill_n(wanted.rbegin(), 2, 1);
    return fill_pairs(call, input, wanted);
  }
  if (input > 0 && call.steps(0)) is_axis(call.in(0).rank() - *call.steps(0));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t here = wanted.size() - i;
    if (is_open(wanted[i]) && from_the_end(wanted[i]) <= 0) {
      is_axis(here);
      if (rows_of_open(wanted[i]) != 1) refuse("is as long as a sequence of which a step has several rows");
      const std::int64_t missing = -from_the_end(wanted[i]);
      if (input > 0 && call.steps(0) && missing != call.missing)
        refuse("puts steps of the sequence together with fewer of them");
      call.missing = missing;
      wanted[i] = 1;
    } else if (from_last == here && wanted[i] != 1) {
      refuse("makes a sequence whose length may be any " + std::to_string(wanted[i]) + " steps long");
    }
  }
  if (!from_last) refuse("depends on the length of the sequence, which may be any");
  if (call.steps(0) && input > 0 && call.rows(0) != 1)
    refuse("is as long as a sequence of which a step has several rows");
  std::vector<std::optional<Quantity>> inputs;
  std::size_t rank = wanted.size();
  if (input > 0) {
    const Quantity& x = inputs.emplace_back(call.in(0)).value();
    inputs[0]->steps.reset();
    rank = std::max(rank, x.rank());
    if (!call.steps(0) && x.rank() >= *from_last && x.shape[x.rank() - *from_last] != 1)
      refuse("has numbers along the sequence, whose length may be any");
  }
  const auto count = static_cast<std::int64_t>(wanted.size());
  inputs.emplace_back(known_integers({count}, std::move(wanted)));
  call.make(call.by_rule(std::move(inputs)).at(0), rank - *from_last);
}
void expand(StepCall& call) {
  filled(call, 1);
}
void constant_of_shape(StepCall& call) {
  filled(call, 0);
}

// What each step has, several times; or one for each step.
void tile(StepCall& call) {
  if (!call.steps(0)) return filled(call, 1);
  const std::size_t steps = call.only_steps();
  const std::vector<std::int64_t> repeats = call.node.integers_in(1);
  if (steps < repeats.size() && repeats[steps] != 1) refuse("has the sequence several times");
  call.one_step(steps);
}

// How many steps there are, of which a number is made.
void cast(StepCall& call) {
  const Quantity& x = call.in(0);
  if (call.has_pairs()) return combine_pairs(call);
  if (call.steps(0) || !has_open(x)) return call.one_step(call.only_steps());
  call.make(call.length(x), std::nullopt);
}

constexpr StepRule kRules[] = {
    {"Reshape", reshape, true, true},
    {"Flatten", flatten, true},
    {"Squeeze", squeeze, true, true},
    {"Unsqueeze", unsqueeze, true, true},
    {"Transpose", transpose, true, true},
    {"Concat", concat, true},
    {"Split", split, true},
    {"Slice", slice, true},
    {"Gather", gather, true, true},
    {"Shape", shape, true, true},
    {"Expand", expand, true, true},
    {"ConstantOfShape", constant_of_shape, true},
    {"Range", range},
    {"Tile", tile, true},
    {"Cast", cast, true, true},
};

}  // namespace

extern const std::span<const StepRule> kLayoutStepRules;
const std::span<const StepRule> kLayoutStepRules = kRules;

}  // namespace volvox::onnx_import
