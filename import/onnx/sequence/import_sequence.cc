#include "import/onnx/sequence/import_sequence.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "import/onnx/converted.h"
#include "import/onnx/known.h"
#include "import/onnx/sequence/lane_book.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/sequence_axes.h"
#include "import/onnx/sequence/sequence_walk.h"

namespace volvox::onnx_import {
namespace {

// The graph with one guess.
class SequenceTrial {
 public:
  // A step is so many rows of the inputs.
  SequenceTrial(const OnnxImport& wanted, const OnnxModel& model, const SequenceAxes& axes, std::int64_t rows)
      : wanted_(wanted), model_(model), axes_(axes), rows_(rows), walk_(lanes_, model.opset) {}

  // How the axis was used, as far as the graph could be read.
  const AxisUse& run() {
    try {
      walk();
      walked_ = true;
      if (walk_.use().as_steps) made_ = convert();
    } catch (const Refusal& refusal) {
      std::string why = wanted_.file.string() + ": " + refusal.why;
      if (!lengths_.empty())
        why += "; " + listed(lengths_, [](const auto& name) { return in_quotes(name); }) +
               " was taken for the length of the sequence: give another number with --set";
      made_ = invalid(why);
    }
    return walk_.use();
  }
  bool is_refused() const { return made_ && !*made_; }
  LaneBook& lanes() { return lanes_; }
  // Of a sequence of one step the graph does what it does of each: its inputs are all there is of before.
  bool is_step_by_step() const {
    return walked_ && !others_.empty() && !walk_.use().backwards && !walk_.use().anew;
  }
  Result<ConvertedOnnx> take() { return std::move(*made_); }

 private:
  void walk() {
    for (const GraphInput& input : model_.graph->inputs) scope_.values[input.name] = value_of(input);
    if (axes_.size() != definition_.inputs.size()) refuse("an input of the sequence is given as a constant");
    if (Status status = walk_.run(*model_.graph, scope_); !status) refuse(status.error().message);
  }

  Quantity value_of(const GraphInput& input) {
    const auto said = wanted_.shapes.find(input.name);
    const Shape* given = said == wanted_.shapes.end() ? nullptr : &said->second;
    const bool real = is_real_input(input.type);
    if (const auto constant = wanted_.constants.find(input.name); constant != wanted_.constants.end())
      return given_constant(input, given, constant->second);
    Shape shape;
    for (const auto& extent : input.shape) shape.push_back(extent.value_or(1));
    if (given != nullptr) shape = given_shape(input, *given);
    if (!real && !is_whole_input(input.type))
      refuse("input " + in_quotes(input.name) +
             " is neither of floats nor of whole numbers; give it with --set");
    const auto axis = axes_.find(input.name);
    if (axis != axes_.end()) return sequence(input, std::move(shape), axis->second);
    if (!real && shape.size() <= 1 && elements(shape) == 1) {
      lengths_.push_back(input.name);
      return known_integers(shape, {open_length(rows_)});
    }
    others_.push_back(input.name);
    constexpr float kAny = std::numeric_limits<float>::quiet_NaN();
    return known_reals(shape, std::vector<float>(static_cast<std::size_t>(checked_elements(shape)), kAny));
  }

  // Rows of the input have neither the axis of the sequence nor the batch, which is the first of the others
  // if it is open, or 1.
  Quantity sequence(const GraphInput& input, Shape shape, std::size_t axis) {
    if (axis >= shape.size())
      refuse("input " + in_quotes(input.name) + " has no axis " + std::to_string(axis));
    shape[axis] = rows_;
    Shape row = shape;
    if (rows_ == 1) row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
    if (!row.empty() && row.front() == 1) row.erase(row.begin());
    checked_elements(row);
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      if (!input.shape[i] && i != axis && i > (axis == 0 ? 1U : 0U) && !wanted_.shapes.contains(input.name))
        refuse("input " + in_quotes(input.name) + " leaves its axis " + std::to_string(i) +
               " open, which is neither the sequence's nor the batch's");
    }
    const DType dtype = is_real_input(input.type) ? DType::kF32 : DType::kI32;
    const std::string name = plain_name(input.name);
    definition_.inputs.push_back({.name = name, .dtype = dtype, .shape = row});
    Quantity x = lanes_.graph().reshape(lanes_.input(name, dtype, row), shape);
    x.steps = axis;
    return x;
  }

  // A row of an output has no axes of extent 1 but its last one.
  static Shape row_of(const Quantity& x) {
    Shape row, kept;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (x.steps != i || x.shape[i] > 1) kept.push_back(x.shape[i]);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != 1 || i + 1 == kept.size()) row.push_back(kept[i]);
    }
    return row;
  }

  ConvertedOnnx convert() {
    if (!others_.empty())
      refuse("input " + in_quotes(others_.front()) + " has no axis of the sequence (" + described_axes() +
             "); give it with --set, a state that begins at zero with --set " + others_.front() +
             "=0, or say with --sequence " + others_.front() + "=AXIS which axis it is");
    const auto outputs = kept_outputs();
    for (const std::string& name : outputs) {
      const Quantity* made = scope_.find(name);
      if (made == nullptr) refuse("nothing makes the output " + in_quotes(name));
      if (made->turned)
        refuse("the rows of the output " + in_quotes(name) + " are in the other order than its sequence");
      if (made->pairs != Quantity::Pairs::kNone || !made->margin.none())
        refuse("the output " + in_quotes(name) + " has other rows than its sequence has steps");
      const std::int64_t rows = made->steps ? made->shape[*made->steps] : 1;
      if (made->missing % rows != 0)
        refuse("the output " + in_quotes(name) + " lacks " + std::to_string(made->missing) +
               " rows, of which each step has " + std::to_string(rows));
      const Quantity row = lanes_.graph().reshape(*made, row_of(*made));
      lanes_.output(plain_name(name), row, made->steps.has_value());
      definition_.outputs.push_back({.name = plain_name(name),
                                     .dtype = row.dtype,
                                     .shape = row.shape,
                                     .every = made->steps.has_value(),
                                     .fewer = static_cast<std::uint32_t>(made->missing / rows)});
    }
    WrittenLanes written = lanes_.finish();
    definition_.unfolding = "lanes";
    definition_.min_length = static_cast<std::uint32_t>(walk_.use().least_steps);
    definition_.max_length = static_cast<std::uint32_t>(lanes_.longest());
    definition_.cells = std::move(written.cells);
    definition_.lanes = std::move(written.lanes);
    definition_.sequences = std::move(written.sequences);
    ConvertedOnnx converted{.definition = std::move(definition_)};
    converted.report = report_of(converted.definition, written);
    add_weights(converted, std::move(written.weights));
    if (Status fine = check(converted); !fine) refuse(fine.error().message);
    return converted;
  }

  std::vector<std::string> kept_outputs() const {
    std::vector<std::string> kept;
    const auto& wanted = wanted_.outputs;
    for (const std::string& output : model_.graph->outputs) {
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), output) != wanted.end())
        kept.push_back(output);
    }
    if (kept.empty()) refuse("has no outputs");
    if (kept.size() > kMaxOutputs)
      refuse("has " + std::to_string(kept.size()) + " outputs (" + listed(kept) + "), a model has at most " +
             std::to_string(kMaxOutputs) + "; choose with --output");
    return kept;
  }

  std::string described_axes() const {
    return listed(axes_,
                  [](const auto& one) { return "axis " + std::to_string(one.second) + " of " + one.first; });
  }

  std::string report_of(const ModelDefinition& definition, const WrittenLanes& written) const {
    std::string text = origin_of(model_) + std::to_string(walk_.folded()) + " nodes computed beforehand, " +
                       std::to_string(walk_.branches()) + " branches taken, " +
                       std::to_string(walk_.written()) + " nodes become " +
                       std::to_string(definition.lanes.size()) + " lanes along " + described_axes() +
                       (rows_ > 1 ? ", " + std::to_string(rows_) + " rows a step" : "") + '\n';
    for (const auto& [name, numbers] : wanted_.constants) text += "constant " + name + '\n';
    for (const InputDefinition& input : definition.inputs)
      text += "input " + input.name + ": " + described(input.dtype, input.shape) + " a step\n";
    text += written.report;
    if (definition.min_length > 1)
      text += "at least " + std::to_string(definition.min_length) + " steps a request\n";
    for (const OutputDefinition& output : definition.outputs)
      text += "output " + output.name + ": " + described(*output.dtype, *output.shape) +
              (output.every ? " a step" : " at the end") +
              (output.fewer > 0 ? ", without the last " + std::to_string(output.fewer) : "") + '\n';
    return text + onnx_import::report_of(written.weights);
  }

  const OnnxImport& wanted_;
  const OnnxModel& model_;
  const SequenceAxes& axes_;
  const std::int64_t rows_;
  LaneBook lanes_{std::make_shared<WeightBook>()};
  SequenceWalk walk_;
  GraphWalk::Scope scope_;
  ModelDefinition definition_;
  std::vector<std::string> others_;  // inputs that do not go along the sequence
  std::vector<std::string> lengths_;
  bool walked_ = false;  // to the end of the graph
  std::optional<Result<ConvertedOnnx>> made_;
};

}  // namespace

SequenceReading read_sequence(const OnnxImport& wanted, const OnnxModel& model) {
  SequenceReading reading;
  const auto fail_with = [&](const std::string& why) {
    reading.converted = invalid(wanted.file.string() + ": " + why);
    reading.is_sure = true;
    return reading;
  };
  const auto find_input = [&](const std::string& name) {
    const auto& inputs = model.graph->inputs;
    const auto found = std::ranges::find(inputs, name, &GraphInput::name);
    return found == inputs.end() ? nullptr : &*found;
  };
  const auto no_input = [&](const std::string& name) {
    return "has no input " + in_quotes(name) +
           "; there are: " + listed(model.graph->inputs, &GraphInput::name);
  };
  for (const auto& [name, numbers] : wanted.constants) {
    if (find_input(name) == nullptr) return fail_with(no_input(name));
  }
  for (const auto& [name, shape] : wanted.shapes) {
    if (find_input(name) == nullptr) return fail_with(no_input(name));
  }
  for (const std::string& name : wanted.outputs) {
    if (std::ranges::find(model.graph->outputs, name) == model.graph->outputs.end())
      return fail_with("has no output " + in_quotes(name) + "; there are: " + listed(model.graph->outputs));
  }
  for (const auto& [name, axis] : wanted.sequences) {
    const GraphInput* found = find_input(name);
    if (found == nullptr) return fail_with(no_input(name));
    if (axis && *axis >= found->shape.size())
      return fail_with("input " + in_quotes(name) + " has no axis " + std::to_string(*axis));
  }
  constexpr std::int64_t kMaxRows = 512;  // of a step
  for (const SequenceAxes& axes : guess_sequences(wanted, *model.graph)) {
    std::int64_t rows = 1;
    auto found = std::make_unique<SequenceTrial>(wanted, model, axes, rows);
    AxisUse use = found->run();
    while (found->is_refused() && use.more_rows > 1 && rows * use.more_rows <= kMaxRows) {
      rows *= use.more_rows;
      found = std::make_unique<SequenceTrial>(wanted, model, axes, rows);
      use = found->run();
    }
    if (use.as_steps && !found->is_refused() && found->lanes().keeps_rows_twice()) {
      auto once = std::make_unique<SequenceTrial>(wanted, model, axes, rows);
      once->lanes().plan_rows(found->lanes().wanted_rows());
      use = once->run();
      found = std::move(once);
    }
    SequenceTrial& trial = *found;
    if (use.as_batch || (use.as_steps && trial.is_step_by_step())) reading.single.push_back(axes);
    if (use.as_steps) {
      reading.is_sure = !trial.is_step_by_step();
      reading.converted = trial.take();
      return reading;
    }
    if (!use.as_batch && !reading.converted && trial.is_refused()) reading.converted = trial.take();
  }
  if (reading.converted || wanted.sequences.empty()) return reading;
  return fail_with("no recurrent layer goes along " +
                   listed(wanted.sequences, [](const auto& one) { return in_quotes(one.first); }) +
                   " as a sequence");
}

}  // namespace volvox::onnx_import
