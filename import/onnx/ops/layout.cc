#include <algorithm>
#include <limits>

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

void identity(NodeCall& call) {
  call.outputs = {call.in(0)};
}

void reshape(NodeCall& call) {
  const Quantity& x = call.in(0);
  Shape shape = call.integers_in(1);
  std::int64_t others = 1;
  std::optional<std::size_t> rest;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0 && call.integer("allowzero", 0) == 0) {
      if (axis >= x.rank()) refuse("keeps an axis that is not there");
      shape[axis] = x.shape[axis];
    }
    if (shape[axis] != -1) {
      if (shape[axis] < 0 || shape[axis] > kMaxConstantElements) refuse("its shape is " + to_string(shape));
      others = checked_elements({others, shape[axis]});
    } else if (rest) {
      refuse("two extents are left open");
    } else {
      rest = axis;
    }
  }
  if (rest) shape[*rest] = others == 0 ? 0 : elements(x.shape) / others;
  call.outputs = {call.writer.reshape(x, shape)};
}

void flatten(NodeCall& call) {
  const Quantity& x = call.in(0);
  const std::int64_t written = call.integer("axis", 1);
  const std::size_t axis =
      written == static_cast<std::int64_t>(x.rank()) ? x.rank() : NodeCall::axis(written, x.rank());
  const auto middle = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape shape{elements({x.shape.begin(), middle}), elements({middle, x.shape.end()})};
  call.outputs = {call.writer.reshape(x, shape)};
}

void squeeze(NodeCall& call) {
  const Quantity& x = call.in(0);
  const auto axes = call.integers_of("axes", 1);
  std::vector<bool> dropped(x.rank(), false);
  for (std::size_t axis = 0; axis < x.rank(); ++axis) dropped[axis] = !axes && x.shape[axis] == 1;
  for (const std::int64_t written : axes.value_or(std::vector<std::int64_t>())) {
    const std::size_t axis = NodeCall::axis(written, x.rank());
    if (x.shape[axis] != 1)
      refuse("axis " + std::to_string(axis) + " of " + to_string(x.shape) + " is longer than 1");
    dropped[axis] = true;
  }
  Shape shape;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (!dropped[axis]) shape.push_back(x.shape[axis]);
  }
  call.outputs = {call.writer.reshape(x, shape)};
}

void unsqueeze(NodeCall& call) {
  const Quantity& x = call.in(0);
  const auto axes = call.integers_of("axes", 1);
  if (!axes) refuse("names no axes");
  const std::size_t rank = x.rank() + axes->size();
  if (rank > kMaxRank) refuse("has too many axes");
  std::vector<bool> added(rank, false);
  for (const std::int64_t written : *axes) added[NodeCall::axis(written, rank)] = true;
  Shape shape;
  std::size_t from = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!added[axis] && from >= x.rank()) refuse("names an axis twice");
    shape.push_back(added[axis] ? 1 : x.shape[from++]);
  }
  call.outputs = {call.writer.reshape(x, shape)};
}

void transpose(NodeCall& call) {
  std::vector<std::int64_t> axes = call.integers("perm");
  if (axes.empty()) {
    for (std::size_t axis = call.in(0).rank(); axis-- > 0;) axes.push_back(static_cast<std::int64_t>(axis));
  }
  call.outputs = {call.writer.transpose(call.in(0), axes)};
}

void concat(NodeCall& call) {
  std::vector<Quantity> parts;
  for (std::size_t i = 0; i < call.inputs(); ++i) parts.push_back(call.in(i));
  if (parts.empty()) refuse("has no inputs");
  call.outputs = {call.writer.concat(parts, NodeCall::axis(call.integer("axis", 0), parts[0].rank()))};
}

void split(NodeCall& call) {
  const Quantity& x = call.in(0);
  const std::size_t axis = NodeCall::axis(call.integer("axis", 0), x.rank());
  const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
  auto extents = call.integers_of("split", 1);
  if (!extents) {
    const std::int64_t each = (x.shape[axis] + parts - 1) / std::max<std::int64_t>(parts, 1);
    extents.emplace(static_cast<std::size_t>(parts), each);
    if (parts > 0) extents->back() = x.shape[axis] - each * (parts - 1);
  }
  std::int64_t begin = 0;
  for (const std::int64_t extent : *extents) {
    if (extent < 1 || extent > x.shape[axis] - begin)
      refuse("its parts are not those of " + to_string(x.shape));
    call.outputs.push_back(call.writer.slice(x, axis, begin, begin + extent));
    begin += extent;
  }
}

void slice(NodeCall& call) {
  Quantity x = call.in(0);
  const auto starts = call.integers_of("starts", 1), ends = call.integers_of("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) refuse("its starts and ends are no pairs");
  std::vector<std::int64_t> usual;
  for (std::size_t i = 0; i < starts->size(); ++i) usual.push_back(static_cast<std::int64_t>(i));
  const auto axes = call.integers_of("axes", 3).value_or(usual);
  const auto steps = call.integers_of("steps", 4).value_or(std::vector<std::int64_t>(axes.size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size())
    refuse("its axes and steps are not as many as its starts");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = NodeCall::axis(axes[i], x.rank());
    const std::int64_t extent = x.shape[axis], step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) refuse("a step of 0");
    if (extent == 0) continue;
    const auto counted = [&](std::int64_t written, std::int64_t least, std::int64_t most) {
      if (written < 0) written = written < -extent ? least : written + extent;
      return std::clamp(written, least, most);
    };
    const bool forward = step > 0;
    const std::int64_t begin = counted((*starts)[i], 0, forward ? extent : extent - 1);
    const std::int64_t end = forward                ? counted((*ends)[i], 0, extent)
                             : (*ends)[i] < -extent ? -1
                                                    : counted((*ends)[i], -1, extent - 1);
    x = call.writer.slice(x, axis, begin, std::max(end, forward ? begin : end),
                          std::clamp<std::int64_t>(step, -extent - 1, extent + 1));
  }
  call.outputs = {x};
}

// Rows of a table by ids that the model is given.
Quantity looked_up(NodeCall& call) {
  if (!call.known_in(0)->is_real())
    refuse("looks up whole numbers by what is not known beforehand; what is computed is f32");
  if (call.integer("axis", 0) != 0) refuse("looks up along another axis than 0");
  return call.writer.look_up(call.known_in(0), call.in(1));
}

void gather(NodeCall& call) {
  const Quantity& x = call.in(0);
  if (!call.in(1).is_known()) {
    call.outputs = {looked_up(call)};
    return;
  }
  const std::size_t axis = NodeCall::axis(call.integer("axis", 0), x.rank());
  const std::vector<std::int64_t> indices = call.integers_in(1);
  constexpr std::size_t kMaxIndices = 4096;
  if (indices.empty() || indices.size() > kMaxIndices) refuse("picks no elements, or too many");
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), call.in(1).shape.begin(), call.in(1).shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  checked_elements(shape);  // before any of them is there
  std::vector<Quantity> parts;
  for (std::size_t i = 0; i < indices.size();) {
    const std::int64_t first = NodeCall::index(indices[i], x.shape[axis]);
    std::size_t run = 1;
    while (i + run < indices.size() && indices[i + run] == indices[i] + static_cast<std::int64_t>(run) &&
           first + static_cast<std::int64_t>(run) < x.shape[axis])
      ++run;
    parts.push_back(call.writer.slice(x, axis, first, first + static_cast<std::int64_t>(run)));
    i += run;
  }
  call.outputs = {call.writer.reshape(call.writer.concat(parts, axis), shape)};
}

void pad(NodeCall& call) {
  const Quantity& x = call.in(0);
  const auto written = call.integers_of("pads", 1);
  if (!written || written->empty()) refuse("does not say how much is added");
  if (call.has(3)) refuse("pads some axes only; list all of them");
  std::vector<std::int64_t> pads = *written;
  if (pads.size() != 2 * x.rank()) refuse("its pads are not those of " + to_string(x.shape));
  // Less than 0: something is cut off.
  Quantity cut = x;
  Shape shape;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    std::int64_t &before = pads[axis], &after = pads[axis + x.rank()];
    if (std::max(before, after) > kMaxConstantElements || std::min(before, after) < -x.shape[axis])
      refuse("adds too much");
    cut = call.writer.slice(cut, axis, std::max<std::int64_t>(-before, 0),
                            x.shape[axis] + std::min<std::int64_t>(after, 0));
    before = std::max<std::int64_t>(before, 0);
    after = std::max<std::int64_t>(after, 0);
    shape.push_back(cut.shape[axis] + before + after);
  }
  if (shape == cut.shape) {
    call.outputs = {cut};
    return;
  }
  const std::string mode = call.text("mode", "constant");
  if (mode == "reflect") {
    call.outputs = {call.writer.apply("pad_reflect", {cut}, {.integers = pads}, shape)};
  } else if (mode == "constant") {
    const double value = call.has(2) ? call.number_in(2) : call.real("value", 0);
    call.outputs = {call.writer.apply("pad", {cut}, {.integers = pads, .reals = {value}}, shape)};
    keep_whole(call);
  } else {
    refuse("the mode '" + mode + "' is not there: constant and reflect are");
  }
}

void expand(NodeCall& call) {
  const Quantity& x = call.in(0);
  const Shape ones = call.integers_in(1);
  const auto count = static_cast<std::size_t>(checked_elements(ones));
  if (x.is_known() && !x.known->is_real()) {
    call.outputs = {integers_of(
        x, known_integers(ones, std::vector<std::int64_t>(count, 0)),
        +[](std::int64_t a, std::int64_t) { return a; })};
  } else {
    call.outputs = {call.writer.mul(x, known_reals(ones, std::vector<float>(count, 1)))};
  }
}

// So many times beside itself, along each axis.
void tile(NodeCall& call) {
  constexpr std::int64_t kMaxCopies = 256;
  const std::vector<std::int64_t> repeats = call.integers_in(1);
  Quantity x = call.in(0);
  if (repeats.size() != x.rank()) refuse("does not say of each axis how often it is there");
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 1 || repeats[axis] > kMaxCopies)
      refuse("is there " + std::to_string(repeats[axis]) + " times; 1 to " + std::to_string(kMaxCopies) +
             " is taken");
    x = call.writer.concat(std::vector<Quantity>(static_cast<std::size_t>(repeats[axis]), x), axis);
  }
  call.outputs = {x};
}

// Of the last two axes.
void triangle(NodeCall& call) {
  const Quantity& x = call.in(0);
  if (x.rank() < 2) refuse("takes a triangle of what has no two axes");
  const std::int64_t later = call.has(1) ? call.integers_in(1).at(0) : 0;
  const bool upper = call.integer("upper", 1) != 0;
  const std::int64_t rows = x.shape[x.rank() - 2], columns = x.shape[x.rank() - 1];
  std::vector<float> kept(static_cast<std::size_t>(checked_numbers({rows, columns})));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / columns,
                       column = static_cast<std::int64_t>(i) % columns;
    kept[i] = (upper ? column - row >= later : column - row <= later) ? 1 : 0;
  }
  const bool whole = x.is_known() && !x.known->is_real();
  const Quantity numbers = whole ? known(as_real(x.known)) : x;
  const Quantity made = call.writer.pointwise(
      "select", {known_reals({rows, columns}, std::move(kept)), numbers, known_reals({}, {0})});
  call.outputs = {whole ? known(as_integer(made.known)) : made};
}

void cast(NodeCall& call) {
  const Quantity& x = call.in(0);
  const std::int64_t to = call.integer("to", 0);
  const bool real = to == kFloat || to == kFloat16 || to == kDouble || to == kBfloat16;
  if (x.is_known() && to == kBool) {
    const KnownTensor numbers = as_real(x.known);
    std::vector<std::int64_t> truths;
    for (const float number : numbers->reals) truths.push_back(number != 0 ? 1 : 0);
    call.outputs = {known_integers(x.shape, std::move(truths))};
  } else if (x.is_known()) {
    call.outputs = {known(real ? as_real(x.known) : as_integer(x.known))};
  } else {
    const bool whole = x.dtype == DType::kI32, wants_whole = !real && to != kBool;
    const Quantity real_x = whole && !wants_whole ? call.writer.apply("to_f32", {x}, {}, x.shape) : x;
    if (to == kBool) {
      call.outputs = {call.writer.pointwise("not_equal", {real_x, known_reals({}, {0})})};
    } else if (wants_whole && !whole) {
      call.outputs = {call.writer.as_id(x)};
    } else {
      call.outputs = {real_x};
    }
  }
}

constexpr OpRule kRules[] = {
    {"Identity", identity},
    {"Dropout", identity, "as in inference: does nothing"},
    {"Reshape", reshape, "known shape"},
    {"Flatten", flatten},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Transpose", transpose},
    {"Concat", concat},
    {"Split", split},
    {"Slice", slice, "known bounds; of what is computed ascending and not empty"},
    {"Gather", gather, "known indices, or up to 256 ids that the model is given and a known table"},
    {"Pad", pad, "constant or reflect, known pads"},
    {"Expand", expand, "known shape"},
    {"Trilu", triangle},
    {"Tile", tile, "known repeats, at most 256 along an axis"},
    {"Cast", cast, "floats of all widths are f32, whole numbers of the cell i32"},
};

}  // namespace

extern const std::span<const OpRule> kLayoutRules;
const std::span<const OpRule> kLayoutRules = kRules;

}  // namespace volvox::onnx_import
