#include "import/onnx/import_onnx.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "cells/ir/window.h"
#include "import/onnx/batch_check.h"
#include "import/onnx/converted.h"
#include "import/onnx/graph_walk.h"
#include "import/onnx/known.h"
#include "import/onnx/read_onnx.h"
#include "import/onnx/sequence/import_sequence.h"
#include "repository/mapped_file.h"

namespace volvox {
namespace onnx_import {
namespace {

constexpr std::uint32_t kMaxBatch = 256;

// One row of it: without the batch.
Shape row_of(const Shape& shape) {
  return shape.empty() || shape.front() != 1 ? shape : Shape(shape.begin() + 1, shape.end());
}

// A state in several parts, where it is one tensor of several: h and c, layer by layer. Each part is a state
// of its own, which the operators read in place.
class StateParts {
 public:
  StateParts(std::string name, Shape shape) : name_(std::move(name)), shape_(std::move(shape)) {
    constexpr std::int64_t kMostExtent = 8, kMostParts = 16, kLeastElements = 16;
    std::int64_t left = elements(shape_), parts = 1;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const std::int64_t extent = shape_[axis];
      if (extent < 2 || extent > kMostExtent || parts * extent > kMostParts || left / extent < kLeastElements)
        continue;
      axes_.push_back(axis);
      parts *= extent;
      left /= extent;
    }
  }

  Quantity gather(CellWriter& w) const { return gather(w, 0, name_, shape_); }
  void scatter(CellWriter& w, const Quantity& x) const { scatter(w, 0, name_, x); }

 private:
  Quantity gather(CellWriter& w, std::size_t depth, const std::string& name, Shape shape) const {
    if (depth == axes_.size()) return w.reshape(w.gather(name, {elements(shape)}), shape);
    const std::int64_t extent = std::exchange(shape[axes_[depth]], 1);
    std::vector<Quantity> parts;
    for (std::int64_t i = 0; i < extent; ++i)
      parts.push_back(gather(w, depth + 1, name + "." + std::to_string(i), shape));
    return w.concat(parts, axes_[depth]);
  }
  void scatter(CellWriter& w, std::size_t depth, const std::string& name, const Quantity& x) const {
    if (depth == axes_.size()) return w.scatter(name, w.flat(x));
    for (std::int64_t i = 0; i < shape_[axes_[depth]]; ++i)
      scatter(w, depth + 1, name + "." + std::to_string(i), w.slice(x, axes_[depth], i, i + 1));
  }

  std::string name_;
  Shape shape_;
  std::vector<std::size_t> axes_;
};

class Importer {
 public:
  // `single`: open axes of which a step has one, whatever they are called; null: all that there are.
  Importer(const OnnxImport& wanted, OnnxModel model, const std::vector<SequenceAxes>* single)
      : wanted_(wanted), model_(std::move(model)), single_(single) {}

  Result<ConvertedOnnx> run() {
    try {
      prepare();
      find_states();
      check_batch();
      return convert();
    } catch (const Refusal& refusal) {
      return invalid(wanted_.file.string() + ": " + refusal.why);
    }
  }

 private:
  using Input = StepInput;

  void prepare() {
    for (const GraphInput& input : model_.graph->inputs) inputs_.push_back(prepared(input));
    const auto known_name = [&](const std::string& name) {
      const auto named = [&](const Input& input) { return input.name == name; };
      if (std::none_of(inputs_.begin(), inputs_.end(), named))
        refuse("has no input " + in_quotes(name) + "; there are: " + listed(inputs_, &Input::name));
    };
    for (const auto& [name, numbers] : wanted_.constants) known_name(name);
    for (const auto& [name, shape] : wanted_.shapes) known_name(name);
    for (const auto& [name, window] : wanted_.windows) known_name(name);
    for (const auto& [name, constant] : wanted_.constants) {
      if (wanted_.windows.contains(name))
        refuse("the input " + in_quotes(name) + " is a constant, and has no window");
    }
    const auto& outputs = model_.graph->outputs;
    const auto known_output = [&](const std::string& name) {
      if (std::find(outputs.begin(), outputs.end(), name) == outputs.end())
        refuse("has no output " + in_quotes(name) + "; there are: " + listed(outputs));
    };
    for (const std::string& output : wanted_.outputs) known_output(output);
    for (const auto& [input, output] : wanted_.states) {
      known_name(input);
      known_output(output);
      if (!states_.try_emplace(output, input).second)
        refuse("the output " + in_quotes(output) + " is two states");
    }
  }

  Input prepared(const GraphInput& input) const {
    const bool real = is_real_input(input.type);
    const auto said = wanted_.shapes.find(input.name);
    const Shape* given = said == wanted_.shapes.end() ? nullptr : &said->second;
    if (const auto constant = wanted_.constants.find(input.name); constant != wanted_.constants.end())
      return {.name = input.name, .shape = {}, .constant = given_constant(input, given, constant->second)};
    Input made{.name = input.name, .shape = given != nullptr ? given_shape(input, *given) : shape_of(input)};
    if (!real && !is_whole_input(input.type))
      refuse("input " + in_quotes(input.name) +
             " is neither of floats nor of whole numbers; give it with --set");
    if (!real) made.dtype = DType::kI32;
    // One that its layers go along may be their sequence: they would not keep two of its steps apart.
    for (std::size_t axis = 0; axis < input.shape.size() && given == nullptr; ++axis) {
      if (!input.shape[axis] && !is_known_single(input, axis) && seems_batch(input, axis)) made.batch = axis;
    }
    return made;
  }

  // What is open is the batch, or the step: 1. A graph that mixes what lies along an axis would do something
  // else with one, so whose axis that is must be known.
  Shape shape_of(const GraphInput& input) const {
    Shape shape;
    for (const auto& extent : input.shape) shape.push_back(extent.value_or(1));
    checked_elements(shape);
    const auto open = std::count(input.shape.begin(), input.shape.end(), std::nullopt);
    if (open > 1)
      refuse("input " + in_quotes(input.name) +
             " leaves more than one extent open; say them all with --shape " + input.name + "=1,…");
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!input.shape[axis] && !is_single(input, axis))
        refuse(left_open(input, axis) +
               ", which does not seem to be a batch; if it is one, or a step has one of it, say so with " +
               shape_option(input.name, shape));
    }
    return shape;
  }

  static std::string left_open(const GraphInput& input, std::size_t axis) {
    const std::string& symbol = input.symbols[axis];
    return "input " + in_quotes(input.name) + " leaves its axis " + std::to_string(axis) + " open" +
           (symbol.empty() ? "" : " (" + in_quotes(symbol) + ")");
  }
  static std::string shape_option(const std::string& name, const Shape& shape) {
    std::string text = "--shape " + name + '=';
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      text.append(axis == 0 ? "" : ",").append(std::to_string(shape[axis]));
    return text;
  }

  bool is_single(const GraphInput& input, std::size_t axis) const {
    return single_ == nullptr || is_known_single(input, axis) || seems_batch(input, axis);
  }

  // By what its layers do.
  bool is_known_single(const GraphInput& input, std::size_t axis) const {
    if (single_ == nullptr) return false;
    return std::any_of(single_->begin(), single_->end(), [&](const SequenceAxes& axes) {
      const auto found = axes.find(input.name);
      return found != axes.end() && found->second == axis;
    });
  }

  // A batch, by its place and its name.
  bool seems_batch(const GraphInput& input, std::size_t axis) const {
    const std::string& symbol = input.symbols[axis];
    if (sounds_like(symbol, {"t", "l", "s"}, {"seq", "time", "len", "frame", "step", "word", "token"}))
      return false;
    const auto leads = [&symbol](const GraphInput& other) {
      return !symbol.empty() && !other.symbols.empty() && other.symbols[0] == symbol;
    };
    const auto& inputs = model_.graph->inputs;
    return axis == 0 || sounds_like(symbol, {"n", "b"}, {"batch"}) ||
           std::any_of(inputs.begin(), inputs.end(), leads);
  }

  // Whether it is one of these names, or has one of these parts, in letters of any case.
  static bool sounds_like(std::string name, std::initializer_list<std::string_view> names,
                          std::initializer_list<std::string_view> parts) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto in_name = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
    return std::find(names.begin(), names.end(), name) != names.end() ||
           std::any_of(parts.begin(), parts.end(), in_name);
  }

  // One walk over the graph.
  struct Walked {
    CellWriter writer{};
    GraphWalk::Scope scope{};
    std::size_t folded = 0, written = 0, branches = 0;
  };

  const std::string* state_output(const std::string& input) const {
    for (const auto& [output, from] : states_) {
      if (from == input) return &output;
    }
    return nullptr;
  }

  Walked walk() {
    Walked walked;
    std::uint32_t pulls = 0;
    for (const Input& input : inputs_) {
      Quantity& value = walked.scope.values[input.name];
      if (input.constant) {
        value = *input.constant;
      } else if (state_output(input.name) != nullptr) {
        value = StateParts(plain_name(input.name), input.shape).gather(walked.writer);
      } else {
        const Quantity row =
            walked.writer.pull(plain_name(input.name), pulls++, input.dtype, row_of(input.shape));
        value = walked.writer.reshape(row, input.shape);
      }
    }
    GraphWalk walk(walked.writer, model_.opset);
    if (Status status = walk.run(*model_.graph, walked.scope); !status) refuse(status.error().message);
    walked.folded = walk.folded();
    walked.written = walk.written();
    walked.branches = walk.branches();
    return walked;
  }

  static const Quantity& made(const Walked& walked, const std::string& output) {
    const Quantity* found = walked.scope.find(output);
    if (found == nullptr) refuse("nothing makes the output " + in_quotes(output));
    return *found;
  }

  // Whether an output's name says that it is what the input will be next.
  static bool follows(const std::string& output, const std::string& input) {
    const std::string stem = input.ends_with("_in") ? input.substr(0, input.size() - 3) : input;
    for (const char* end : {"N", "n", "_n", "_out", "Out", "_next", "_new", "_o"}) {
      if (output == stem + end) return true;
    }
    return output == "new_" + input || output == "next_" + input || output == "out_" + input;
  }

  void find_states() {
    if (!wanted_.find_states) return;
    const Walked walked = walk();
    const auto fits = [&](const Input& input, const std::string& output) {
      const Quantity& value = made(walked, output);
      return !input.constant && input.dtype == DType::kF32 && value.dtype == DType::kF32 &&
             value.shape == input.shape && state_output(input.name) == nullptr && !states_.contains(output);
    };
    // The first input is what the model is given.
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      for (const std::string& output : model_.graph->outputs) {
        if (fits(inputs_[i], output) && follows(output, inputs_[i].name)) states_[output] = inputs_[i].name;
      }
    }
    // By shape, where only one of each has it.
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      std::vector<std::string> outputs;
      for (const std::string& output : model_.graph->outputs) {
        if (fits(inputs_[i], output)) outputs.push_back(output);
      }
      const auto rivals = std::count_if(inputs_.begin(), inputs_.end(), [&](const Input& other) {
        return !outputs.empty() && fits(other, outputs.front());
      });
      if (outputs.size() == 1 && rivals == 1) states_[outputs.front()] = inputs_[i].name;
    }
  }

  // The cell runs rows one by one: what a graph mixes is no batch, though its place or name say so.
  void check_batch() const {
    const auto is_batch = [](const Input& input) { return input.batch.has_value(); };
    if (std::none_of(inputs_.begin(), inputs_.end(), is_batch) ||
        !mixes_batch(model_, inputs_, kept_outputs(), states_))
      return;
    std::vector<std::string> open;
    std::string options;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_batch(inputs_[i])) continue;
      open.push_back(left_open(model_.graph->inputs[i], *inputs_[i].batch));
      options.append(" ").append(shape_option(inputs_[i].name, inputs_[i].shape));
    }
    refuse(listed(open) +
           ", which was taken for a batch; but the graph mixes what lies along it, and a step of one would "
           "make something else: say how long it is in a step, with" +
           options + " if it is 1");
  }

  Result<ConvertedOnnx> convert() {
    for (const auto& [output, input] : states_) {
      if (wanted_.windows.contains(input))
        refuse("the input " + in_quotes(input) + " is a state, and has no window");
    }
    Walked walked = walk();
    ModelDefinition definition{.unfolding = "chain", .max_length = kMaxImportedLength};
    LaneDefinition lane{.cell = "cell"};
    for (const Input& input : inputs_) {
      if (input.constant || state_output(input.name) != nullptr) continue;
      definition.inputs.push_back(definition_of(input));
      lane.pull.push_back(definition.inputs.back().name);
    }
    if (definition.inputs.empty())
      refuse(
          "all of its inputs are constants and states: nothing is left to give it; with --no-states only "
          "those "
          "are states that --state names");
    if (definition.inputs.size() > kMaxPulls)
      refuse("has " + std::to_string(definition.inputs.size()) + " inputs (" +
             listed(definition.inputs, &InputDefinition::name) + "), a cell reads at most " +
             std::to_string(kMaxPulls) + "; give others with --set, or say with --state what they are");
    lane.over = definition.inputs.front().name;
    for (const std::string& output : kept_outputs()) {
      const Quantity& value = made(walked, output);
      const Quantity row = walked.writer.reshape(value, row_of(value.shape));
      walked.writer.push(plain_name(output), static_cast<std::uint32_t>(definition.outputs.size()), row);
      definition.outputs.push_back(
          {.name = plain_name(output), .dtype = row.dtype, .shape = row.shape, .every = true});
      lane.push.push_back(definition.outputs.back().name);
    }
    for (const auto& [output, input] : states_) {
      const Quantity& value = made(walked, output);
      const auto is_it = [&from = input](const Input& one) { return one.name == from; };
      const Input& from = *std::find_if(inputs_.begin(), inputs_.end(), is_it);
      if (value.shape != from.shape || value.dtype != DType::kF32 || from.dtype != DType::kF32)
        refuse("the output " + in_quotes(output) + " is " + described(value.dtype, value.shape) +
               ", its input " + in_quotes(input) + " is " + described(from.dtype, from.shape) +
               ": that is no state");
      StateParts(plain_name(input), from.shape).scatter(walked.writer, value);
    }
    CellWriter::Written written = walked.writer.finish();
    ConvertedOnnx converted{.report = report_of(walked, written, definition)};
    definition.cells.push_back({.name = "cell", .kind = std::string(kFileCell), .max_batch = kMaxBatch});
    definition.cells.back().given = std::make_shared<const Cell>(std::move(written.cell));
    definition.lanes.push_back(std::move(lane));
    add_weights(converted, std::move(written.weights));
    converted.definition = std::move(definition);
    if (Status fine = check(converted); !fine) return tl::unexpected(fine.error());
    return converted;
  }

  // With what a client sends of it.
  InputDefinition definition_of(const Input& input) const {
    InputDefinition made{.name = plain_name(input.name), .dtype = input.dtype, .shape = row_of(input.shape)};
    const auto found = wanted_.windows.find(input.name);
    if (found == wanted_.windows.end()) return made;
    const auto [samples, hop] = found->second;
    const auto longer = [](std::int64_t extent) { return extent != 1; };
    const auto axis = std::find_if(made.shape.begin(), made.shape.end(), longer);
    const std::int64_t extent = axis == made.shape.end() ? 1 : *axis;
    if (extent != samples || hop < 1 || hop >= samples)
      refuse("the window of input " + in_quotes(input.name) + " is of " + std::to_string(samples) +
             " samples with " + std::to_string(hop) + " new ones; the graph takes " + std::to_string(extent) +
             " at a time, and 1 to all but one of them are new");
    made.shape.erase(made.shape.begin(), axis + 1);
    made.window = samples;
    made.hop = hop;
    return made;
  }

  // What is asked for; else all that are no states, and where there are no others those: a cell whose output
  // is what it remembers.
  std::vector<std::string> kept_outputs() const {
    std::vector<std::string> kept;
    const auto& wanted = wanted_.outputs;
    for (const std::string& output : model_.graph->outputs) {
      const bool asked = std::find(wanted.begin(), wanted.end(), output) != wanted.end();
      if (wanted.empty() ? !states_.contains(output) : asked) kept.push_back(output);
    }
    if (kept.empty()) kept = model_.graph->outputs;
    if (kept.empty()) refuse("has no outputs");
    if (kept.size() <= kMaxPushes) return kept;
    refuse("has " + std::to_string(kept.size()) + " outputs (" + listed(kept) + "), a cell emits at most " +
           std::to_string(kMaxPushes) + "; choose with --output");
  }

  static std::string line_of(const InputDefinition& input) {
    const std::string name = "input " + input.name + ": ";
    if (input.window == 0) return name + described(input.dtype, input.shape) + " a step\n";
    const InputWindow window{input.window, input.hop, input.shape};
    return name + described(input.dtype, row_shape(window)) + " a step, seen as " +
           described(input.dtype, window_shape(window)) + " with what came before\n";
  }

  std::string report_of(const Walked& walked, const CellWriter::Written& written,
                        const ModelDefinition& definition) const {
    std::string text = origin_of(model_) + std::to_string(walked.folded) + " nodes computed beforehand, " +
                       std::to_string(walked.branches) + " branches taken, " +
                       std::to_string(walked.written) + " nodes become " +
                       std::to_string(written.cell.operators.size()) + " operators\n";
    for (const Input& input : inputs_) {
      if (input.constant) text += "constant " + input.name + "\n";
    }
    for (const InputDefinition& input : definition.inputs) text += line_of(input);
    for (const auto& [output, input] : states_) text += "state " + input + " becomes " + output + "\n";
    for (const OutputDefinition& output : definition.outputs)
      text += "output " + output.name + ": " + described(*output.dtype, *output.shape) + " a step\n";
    return text + onnx_import::report_of(written.weights);
  }

  const OnnxImport& wanted_;
  const OnnxModel model_;
  const std::vector<SequenceAxes>* single_;
  std::vector<Input> inputs_;
  StatePairs states_;
};

}  // namespace
}  // namespace onnx_import

Result<ConvertedOnnx> convert_onnx(const OnnxImport& import, std::span<const std::byte> bytes) {
  auto model = onnx_import::parse_onnx(bytes);
  if (!model) return invalid(import.file.string() + ": " + model.error().message);
  if (!import.windows.empty() && !import.sequences.empty())
    return invalid(import.file.string() + ": a window is of a graph of one step, and a sequence is none");
  // Whose states are said to be inputs is a graph of one step, and so is one with a window.
  const bool is_step = !import.windows.empty() || (!import.states.empty() && import.sequences.empty());
  onnx_import::SequenceReading read;
  if (!is_step) read = onnx_import::read_sequence(import, *model);
  if (read.converted && (read.is_sure || !import.sequences.empty())) return std::move(*read.converted);
  auto step = onnx_import::Importer(import, std::move(*model), is_step ? nullptr : &read.single).run();
  if (step || !read.converted) return step;
  const std::string where = import.file.string() + ": ";
  return invalid(step.error().message + "; read as the graph of a sequence: " +
                 read.converted->error().message.substr(where.size()));
}

Result<std::string> import_onnx(const OnnxImport& import) {
  const auto map = MappedFile::open(import.file);
  if (!map) return tl::unexpected(map.error());
  auto made = convert_onnx(import, (*map)->bytes());
  if (!made) return tl::unexpected(made.error());
  ModelDefinition& definition = made->definition;
  if (import.max_length != 0) {
    if (import.max_length < definition.min_length)
      return invalid(import.file.string() + ": a request has at least " +
                     std::to_string(definition.min_length) + " steps, and shall have at most " +
                     std::to_string(import.max_length));
    definition.max_length = std::min(definition.max_length, import.max_length);
  }
  std::vector<TensorSource> sources;
  for (const ConvertedOnnx::Weight& weight : made->weights)
    sources.push_back({weight.name, DType::kF32, weight.shape, std::as_bytes(std::span(*weight.numbers))});
  if (Status written = write_model(import.model, std::move(definition), sources); !written)
    return tl::unexpected(written.error());
  return std::move(made->report);
}

std::string onnx_operator_table() {
  std::map<std::string, std::string> lines{{"If", "known condition"},
                                           {"Loop", "a round for each step of the model's sequence"},
                                           {"Scan", "along the sequence of the model"}};
  for (const auto* rules : onnx_import::op_rules()) {
    for (const onnx_import::OpRule& rule : *rules) lines[std::string(rule.op)] = rule.limits;
  }
  std::string table;
  for (const auto& [op, limits] : lines) table += "| `" + op + "` | " + limits + " |\n";
  return table;
}

}  // namespace volvox
