#include "import/onnx/sequence/import_sequence.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "import/onnx/converted.h"
#include "import/onnx/known.h"
#include "import/onnx/sequence/lane_book.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/sequence_walk.h"

namespace volvox::onnx_import {
namespace {

constexpr std::uint32_t kMaxLength = 65536;

using SequenceAxes = std::map<std::string, std::size_t>;  // of inputs

bool is_recurrent(const Node& node, bool loops) {
  return loops ? node.op == "Scan" || node.op == "Loop"
               : node.op == "LSTM" || node.op == "GRU" || node.op == "RNN";
}

bool recurs(const Graph& graph, bool loops) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (is_recurrent(node, loops)) return true;
    return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& one) {
      return one.second.graph != nullptr && recurs(*one.second.graph, loops);
    });
  });
}

// Which axes may be those of the sequence, one guess after another.
class Guesses {
 public:
  Guesses(const OnnxImport& wanted, const Graph& graph) : wanted_(wanted), graph_(graph) {}

  std::vector<SequenceAxes> all() const {
    std::vector<SequenceAxes> guesses;
    const bool loops = recurs(graph_, true);
    for (const GraphInput& input : graph_.inputs) {
      if (!wanted_.sequences.empty() && !wanted_.sequences.contains(input.name)) continue;
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (may_be(input, axis)) add(guesses, of_symbol(input, axis));
      }
    }
    // What loops goes along a known extent as well, and so does what is named.
    for (const GraphInput& input : graph_.inputs) {
      const bool named = wanted_.sequences.contains(input.name);
      if (!named && (!loops || !wanted_.sequences.empty())) continue;
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (input.shape[axis] && fits_named(input, axis)) add(guesses, of_extent(axis, *input.shape[axis]));
      }
    }
    return guesses;
  }

 private:
  bool is_given(const GraphInput& input) const { return wanted_.constants.contains(input.name); }
  bool fits_named(const GraphInput& input, std::size_t axis) const {
    const auto named = wanted_.sequences.find(input.name);
    return named == wanted_.sequences.end() || named->second.value_or(axis) == axis;
  }
  bool may_be(const GraphInput& input, std::size_t axis) const {
    return !input.shape[axis] && !is_given(input) && !wanted_.shapes.contains(input.name) &&
           fits_named(input, axis);
  }

  SequenceAxes of_symbol(const GraphInput& input, std::size_t axis) const {
    SequenceAxes axes{{input.name, axis}};
    const std::string& symbol = input.symbols[axis];
    for (const GraphInput& other : graph_.inputs) {
      for (std::size_t i = 0; i < other.shape.size() && !symbol.empty(); ++i) {
        if (may_be(other, i) && other.symbols[i] == symbol) axes.try_emplace(other.name, i);
      }
    }
    return with_named(axes);
  }
  SequenceAxes of_extent(std::size_t axis, std::int64_t extent) const {
    SequenceAxes axes;
    for (const GraphInput& other : graph_.inputs) {
      if (!is_given(other) && axis < other.shape.size() && other.shape[axis] == extent)
        axes.try_emplace(other.name, axis);
    }
    return with_named(axes);
  }
  SequenceAxes with_named(SequenceAxes axes) const {
    for (const auto& [name, axis] : wanted_.sequences) {
      if (axis) axes[name] = *axis;
    }
    return axes;
  }
  static void add(std::vector<SequenceAxes>& guesses, const SequenceAxes& axes) {
    constexpr std::size_t kMostGuesses = 8;
    const bool known = std::find(guesses.begin(), guesses.end(), axes) != guesses.end();
    if (!known && !axes.empty() && guesses.size() < kMostGuesses) guesses.push_back(axes);
  }

  const OnnxImport& wanted_;
  const Graph& graph_;
};

// The graph with one guess.
class SequenceTrial {
 public:
  SequenceTrial(const OnnxImport& wanted, const OnnxModel& model, const SequenceAxes& axes)
      : wanted_(wanted), model_(model), axes_(axes), walk_(lanes_, model.opset) {}

  // How the axis was used, as far as the graph could be read.
  const AxisUse& run() {
    try {
      walk();
      if (walk_.use().as_steps) made_ = convert();
    } catch (const Refusal& refusal) {
      made_ = invalid(wanted_.file.string() + ": " + refusal.why);
    }
    return walk_.use();
  }
  bool is_refused() const { return made_ && !*made_; }
  SequenceModel take() { return {.converted = std::move(*made_), .is_sure = others_.empty()}; }

 private:
  void walk() {
    for (const GraphInput& input : model_.graph->inputs) scope_.values[input.name] = value_of(input);
    if (axes_.size() != definition_.inputs.size()) refuse("an input of the sequence is given as a constant");
    if (Status status = walk_.run(*model_.graph, scope_); !status) refuse(status.error().message);
  }

  Quantity value_of(const GraphInput& input) {
    Shape shape;
    for (const auto& extent : input.shape) shape.push_back(extent.value_or(1));
    if (const auto given = wanted_.shapes.find(input.name); given != wanted_.shapes.end())
      shape = given->second;
    const bool real = is_real_input(input.type);
    if (const auto given = wanted_.constants.find(input.name); given != wanted_.constants.end()) {
      checked_elements(shape);
      return given_constant(shape, given->second, real);
    }
    if (!real && !is_whole_input(input.type))
      refuse("input " + in_quotes(input.name) +
             " is neither of floats nor of whole numbers; give it with --set");
    const auto axis = axes_.find(input.name);
    if (axis != axes_.end()) return sequence(input, std::move(shape), axis->second);
    if (!real && elements(shape) == 1 && shape.size() <= 1) return known_integers(shape, {kOpenLength});
    others_.push_back(input.name);
    return known_reals(shape, std::vector<float>(static_cast<std::size_t>(checked_elements(shape)), 0));
  }

  // Rows of the input have neither the axis of the sequence nor the batch, which is the first of the others
  // if it is open, or 1.
  Quantity sequence(const GraphInput& input, Shape shape, std::size_t axis) {
    if (axis >= shape.size())
      refuse("input " + in_quotes(input.name) + " has no axis " + std::to_string(axis));
    shape[axis] = 1;
    Shape row = shape;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
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
      if (x.steps != i) kept.push_back(x.shape[i]);
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
      const Quantity row = lanes_.graph().reshape(*made, row_of(*made));
      lanes_.output(plain_name(name), row, made->steps.has_value());
      definition_.outputs.push_back({.name = plain_name(name),
                                     .dtype = row.dtype,
                                     .shape = row.shape,
                                     .every = made->steps.has_value()});
    }
    LaneBook::Written written = lanes_.finish();
    definition_.unfolding = "lanes";
    definition_.max_length = kMaxLength;
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
    if (kept.empty()) refuse("has none of the outputs; there are: " + listed(model_.graph->outputs));
    if (kept.size() > kMaxOutputs)
      refuse("has " + std::to_string(kept.size()) + " outputs (" + listed(kept) + "), a model has at most " +
             std::to_string(kMaxOutputs) + "; choose with --output");
    return kept;
  }

  std::string described_axes() const {
    return listed(axes_,
                  [](const auto& one) { return "axis " + std::to_string(one.second) + " of " + one.first; });
  }

  std::string report_of(const ModelDefinition& definition, const LaneBook::Written& written) const {
    std::string text = origin_of(model_) + std::to_string(walk_.folded()) + " nodes computed beforehand, " +
                       std::to_string(walk_.branches()) + " branches taken, " +
                       std::to_string(walk_.written()) + " nodes become " +
                       std::to_string(definition.lanes.size()) + " lanes along " + described_axes() + '\n';
    for (const auto& [name, numbers] : wanted_.constants) text += "constant " + name + '\n';
    for (const InputDefinition& input : definition.inputs)
      text += "input " + input.name + ": " + described(input.dtype, input.shape) + " a step\n";
    text += written.report;
    for (const OutputDefinition& output : definition.outputs)
      text += "output " + output.name + ": " + described(*output.dtype, *output.shape) +
              (output.every ? " a step\n" : " at the end\n");
    return text + onnx_import::report_of(written.weights);
  }

  const OnnxImport& wanted_;
  const OnnxModel& model_;
  const SequenceAxes& axes_;
  LaneBook lanes_{std::make_shared<WeightBook>()};
  SequenceWalk walk_;
  GraphWalk::Scope scope_;
  ModelDefinition definition_;
  std::vector<std::string> others_;  // inputs that do not go along the sequence
  std::optional<Result<ConvertedOnnx>> made_;
};

}  // namespace

std::optional<SequenceModel> convert_sequence(const OnnxImport& wanted, const OnnxModel& model) {
  const auto fail_with = [&](const std::string& why) {
    return SequenceModel{.converted = invalid(wanted.file.string() + ": " + why)};
  };
  for (const auto& [name, axis] : wanted.sequences) {
    const auto& inputs = model.graph->inputs;
    const auto found = std::find_if(inputs.begin(), inputs.end(),
                                    [&name = name](const GraphInput& one) { return one.name == name; });
    if (found == inputs.end())
      return fail_with("has no input " + in_quotes(name) +
                       "; there are: " + listed(inputs, &GraphInput::name));
    if (axis && *axis >= found->shape.size())
      return fail_with("input " + in_quotes(name) + " has no axis " + std::to_string(*axis));
  }
  std::optional<SequenceModel> failed;
  if (recurs(*model.graph, false) || recurs(*model.graph, true)) {
    for (const SequenceAxes& axes : Guesses(wanted, *model.graph).all()) {
      SequenceTrial trial(wanted, model, axes);
      const AxisUse use = trial.run();
      if (use.as_steps) return trial.take();
      if (!use.as_batch && !failed && trial.is_refused()) failed = trial.take();
    }
  }
  if (failed) {
    failed->is_sure = false;
    return failed;
  }
  if (wanted.sequences.empty()) return std::nullopt;
  return fail_with("no recurrent layer goes along " +
                   listed(wanted.sequences, [](const auto& one) { return in_quotes(one.first); }) +
                   " as a sequence");
}

}  // namespace volvox::onnx_import
