#include "cells/model/assembly.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/text.h"
#include "cells/ir/fold.h"
#include "cells/ir/infer.h"
#include "cells/ir/inference.h"
#include "cells/ir/window.h"
#include "cells/library/cell_kind.h"
#include "cells/ops/ops.h"
#include "cells/unfold/unfolding.h"

namespace volvox {
namespace {

// A key that was given and that such a kind would not read; empty: none.
std::string_view foreign_key(const CellDefinition& cell, unsigned keys) {
  const CellDefinition usual;
  const struct {
    std::string_view name;
    unsigned of;
    bool given;
  } all[] = {{"start", kStartKey, cell.start != usual.start},
             {"top_k", kSamplingKeys, cell.top_k != usual.top_k},
             {"temperature", kSamplingKeys, cell.temperature != usual.temperature},
             {"beams", kBeamKeys, cell.beams != usual.beams},
             {"length_penalty", kBeamKeys, cell.length_penalty != usual.length_penalty},
             {"end", kBeamKeys, cell.end != usual.end},
             {"symbols", kSymbolsKey, cell.symbols != usual.symbols}};
  for (const auto& key : all)
    if (key.given && (keys & key.of) == 0) return key.name;
  return {};
}

template <class T>
std::optional<std::uint8_t> find_named(const std::vector<T>& all, std::string_view name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& item) { return item.name == name; });
  if (it == all.end()) return std::nullopt;
  return static_cast<std::uint8_t>(it - all.begin());
}

InputWindow window_of(const InputDefinition& input) {
  return {input.window, input.hop, input.window == 0 ? Shape{} : input.shape};
}

}  // namespace

Assembly::Assembly(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
                   std::string_view file)
    : definition_(definition), options_(options), file_(file) {
  model_.name = definition.name;
  model_.max_length = definition.max_length;
  model_.weights = std::move(weights);
}

tl::unexpected<Error> Assembly::error(std::uint32_t line, const std::string& why) const {
  std::string text(file_);
  text += ':';
  text += std::to_string(line);
  text += ": ";
  return invalid(text + why);
}

Result<Assembly::OnlyCell> Assembly::only_cell(std::string_view unfolding, std::string_view rows) {
  const std::string what = "a " + std::string(unfolding);
  if (definition_.cells.size() != 1) {
    return error(1, "cell: " + what + " has one cell, here are " + std::to_string(definition_.cells.size()));
  }
  if (definition_.lanes.size() > 1) {
    return error(definition_.lanes[1].line,
                 "lane: " + what + " has one lane, here are " + std::to_string(definition_.lanes.size()));
  }
  if (definition_.inputs.empty()) {
    return error(1, "input: " + what + " needs at least one, whose rows are its " + std::string(rows));
  }
  const CellDefinition& cell = definition_.cells[0];
  OnlyCell only{.cell = &cell, .lane = {.line = cell.line, .cell = cell.name}};
  if (!definition_.sequences.empty()) {
    return error(definition_.sequences[0].line,
                 "sequence: " + what + " has one only; with unfolding = \"lanes\" there may be more");
  }
  if (!definition_.lanes.empty()) only.lane = definition_.lanes[0];
  if (only.lane.cell != cell.name)
    return error(only.lane.line, "cell: there is no cell " + in_quotes(only.lane.cell));
  if (!only.lane.from.empty() || !only.lane.initial.empty())
    return error(only.lane.line, "lane: from and initial name other lanes; " + what + " has one");
  auto built = library_cells(cell, what, {unfolding});
  if (!built) return tl::unexpected(built.error());
  only.built = std::move(*built);
  return only;
}

// One that all inputs share which name none, and those of the definition.
Status Assembly::read_sequences() {
  const auto names_none = [](const InputDefinition& input) { return input.sequence.empty(); };
  const auto& inputs = definition_.inputs;
  if (definition_.min_length > model_.max_length) return error(1, "min_length: is more than max_length");
  model_.sequences.clear();
  if (std::any_of(inputs.begin(), inputs.end(), names_none) || definition_.sequences.empty())
    model_.sequences.push_back(
        {.name = "steps", .min_length = definition_.min_length, .max_length = model_.max_length});
  for (const SequenceDefinition& sequence : definition_.sequences) {
    if (find_named(model_.sequences, sequence.name))
      return error(sequence.line, "sequence: " + in_quotes(sequence.name) + " comes twice");
    if (model_.sequences.size() == LanePlan::kMaxLengths)
      return error(sequence.line, "sequence: at most " + std::to_string(LanePlan::kMaxLengths) +
                                      " are possible, with that of the inputs that name none");
    if (sequence.once && (sequence.max_length != 0 || !sequence.until.empty()))
      return error(sequence.line, "once: such a sequence has one step, and no other end");
    using Kind = SequenceSpec::Kind;
    const std::uint32_t most = sequence.max_length == 0 ? model_.max_length : sequence.max_length;
    if (!sequence.once && most < definition_.min_length)
      return error(sequence.line, "max_length: is less than the model's min_length");
    const Kind kind = sequence.until.empty() ? Kind::kGiven : Kind::kStopped;
    model_.sequences.push_back(
        {.name = sequence.name,
         .kind = sequence.once ? Kind::kOnce : kind,
         .min_length = kind == Kind::kGiven && !sequence.once ? definition_.min_length : 1,
         .max_length = sequence.once ? 1 : most});
  }
  return {};
}

Result<std::uint8_t> Assembly::sequence_of(const LaneDefinition& lane) const {
  if (lane.over.empty()) return model_.inputs.front().sequence;
  if (const auto input = find_named(model_.inputs, lane.over)) return model_.inputs[*input].sequence;
  if (const auto sequence = find_named(model_.sequences, lane.over)) return *sequence;
  return error(lane.line, "over: there is no input and no sequence " + in_quotes(lane.over));
}

// The input that `over` names, or else the first of the sequence.
std::optional<std::uint8_t> Assembly::usual_input(const LaneDefinition& lane, std::uint8_t sequence) const {
  if (lane.over.empty()) return std::uint8_t{0};
  if (const auto named = find_named(model_.inputs, lane.over)) return named;
  const auto first = std::find_if(model_.inputs.begin(), model_.inputs.end(),
                                  [&](const InputSpec& input) { return input.sequence == sequence; });
  if (first == model_.inputs.end()) return std::nullopt;
  return static_cast<std::uint8_t>(first - model_.inputs.begin());
}

Status Assembly::read_inputs() {
  if (definition_.inputs.size() > kMaxInputs) {
    return error(definition_.inputs.back().line,
                 "input: at most " + std::to_string(kMaxInputs) + " are possible");
  }
  for (const InputDefinition& input : definition_.inputs) {
    if (find_named(model_.inputs, input.name))
      return error(input.line, "input: " + in_quotes(input.name) + " comes twice");
    if (input.vocabulary > 0 && input.dtype != DType::kI32) {
      return error(input.line, "vocabulary: only i32 inputs have one");
    }
    if (Status fine = check_window(input); !fine) return fine;
    const auto sequence =
        input.sequence.empty() ? std::uint8_t{0} : find_named(model_.sequences, input.sequence);
    if (!sequence || model_.sequences[*sequence].kind == SequenceSpec::Kind::kStopped) {
      return error(input.line, "sequence: there is none " + in_quotes(input.sequence) +
                                   " whose length is known when a request comes");
    }
    const Shape row = input.window == 0 ? input.shape : row_shape(window_of(input));
    model_.inputs.push_back({input.name, input.dtype, row, input.vocabulary, *sequence});
  }
  const bool any_given = std::any_of(model_.inputs.begin(), model_.inputs.end(), [&](const InputSpec& input) {
    return model_.sequences[input.sequence].kind == SequenceSpec::Kind::kGiven;
  });
  if (!any_given && !model_.inputs.empty()) {
    return error(definition_.inputs.front().line,
                 "sequence: one input at least has as many rows as requests say; this is of one step");
  }
  return {};
}

Status Assembly::check_window(const InputDefinition& input) const {
  if (input.window == 0 && input.hop == 0) return {};
  if (input.window == 0 || input.hop == 0)
    return error(input.line, "window, hop: neither is anything without the other");
  if (input.dtype != DType::kF32) return error(input.line, "window: only f32 inputs have one");
  if (input.hop < 1 || input.hop >= input.window)
    return error(input.line, "hop: " + std::to_string(input.hop) + " is not from 1 to below the window of " +
                                 std::to_string(input.window) + "; where they are equal, leave both out");
  const std::int64_t most = kMaxValueElements / std::max<std::int64_t>(elements(input.shape), 1);
  if (input.window > most || input.shape.size() >= kMaxAxes)
    return error(input.line, "window: has more than " + std::to_string(kMaxValueElements) +
                                 " elements, or more than " + std::to_string(kMaxAxes) + " axes");
  return {};
}

// Other unfoldings have no step before.
Status Assembly::check_windows_used() const {
  for (std::size_t i = 0; i < definition_.inputs.size(); ++i) {
    const InputDefinition& input = definition_.inputs[i];
    if (input.window != 0 && !windowed_[i])
      return error(input.line, "window: no step of a chain or a lane reads " + in_quotes(input.name));
  }
  return {};
}

// Other unfoldings have no way from step to step.
Status Assembly::check_paths() const {
  for (std::size_t i = 0; i < definition_.outputs.size(); ++i) {
    if (definition_.outputs[i].path && !model_.outputs[i].path)
      return error(definition_.outputs[i].line,
                   "path: only what a chain or a lane emits has one; leave it out");
  }
  return {};
}

// All lanes of a cell share it, and so its windows.
Result<Cell> Assembly::over_windows(const CellDefinition& definition, Cell cell) {
  const bool any = std::any_of(definition_.inputs.begin(), definition_.inputs.end(),
                               [](const InputDefinition& input) { return input.window != 0; });
  if (!any) return cell;
  std::vector<LaneDefinition> lanes = definition_.lanes;
  std::erase_if(lanes, [&](const LaneDefinition& lane) { return lane.cell != definition.name; });
  if (definition_.lanes.empty()) lanes.push_back({.line = definition.line, .cell = definition.name});
  std::array<InputWindow, kMaxPulls> windows{};
  for (const LaneDefinition& lane : lanes) {
    const auto inputs = pulled_inputs(cell, lane);
    if (!inputs) return tl::unexpected(inputs.error());
    for (std::uint32_t pull = 0; pull < cell.pulls; ++pull) {
      const InputDefinition& input = definition_.inputs[(*inputs)[pull]];
      const InputWindow window = window_of(input);
      if (&lane != &lanes.front() && window != windows[pull])
        return error(lane.line, "pull: lanes of one cell read inputs with one window; write the cell twice");
      if (window.samples != 0 && lane.reverse)
        return error(lane.line, "reverse: the steps before are later ones; input " + in_quotes(input.name) +
                                    " has a window");
      windows[pull] = window;
      windowed_[(*inputs)[pull]] = true;
    }
  }
  for (std::uint32_t pull = 0; pull < kMaxPulls; ++pull) {
    if (windows[pull].samples == 0) continue;
    auto over = over_window(cell, pull, windows[pull]);
    if (!over) return error(lanes.front().line, "window: " + over.error().message);
    if (Status fits = infer(*over, &model_.weights, model_.name); !fits)
      return error(lanes.front().line, "window: " + fits.error().message);
    cell = std::move(*over);
  }
  return cell;
}

Status Assembly::read_outputs() {
  if (definition_.outputs.size() > kMaxOutputs) {
    return error(definition_.outputs.back().line,
                 "output: at most " + std::to_string(kMaxOutputs) + " are possible");
  }
  for (const OutputDefinition& output : definition_.outputs) {
    if (output.path && !output.every)
      return error(output.line, "path: goes through all steps, so it needs every = true");
    if (output.fewer > 0 && (!output.every || output.fewer >= definition_.min_length)) {
      return error(output.line,
                   "fewer: needs every = true, and the model a min_length of more, so that a row is left");
    }
    if (find_named(model_.outputs, output.name)) {
      return error(output.line, "output: " + in_quotes(output.name) + " comes twice");
    }
    model_.outputs.push_back(
        {.name = output.name, .dtype = DType::kF32, .every = output.every, .fewer = output.fewer});
  }
  return {};
}

Result<std::vector<Cell>> Assembly::library_cells(const CellDefinition& cell, std::string_view whose,
                                                  std::initializer_list<std::string_view> unfoldings) {
  if (cell.min_batch > cell.max_batch) return error(cell.line, "min_batch: is larger than max_batch");
  const bool of_chains = std::find(unfoldings.begin(), unfoldings.end(), "chain") != unfoldings.end();
  auto built = cell.given != nullptr && of_chains ? given_cell(cell) : built_cells(cell, whose, unfoldings);
  if (!built) return built;
  for (Cell& one : *built) {
    auto folded = fold(std::move(one));
    if (!folded) return error(cell.line, folded.error().message);
    one = std::move(*folded);
  }
  return built;
}

Result<std::vector<Cell>> Assembly::built_cells(const CellDefinition& cell, std::string_view whose,
                                                std::initializer_list<std::string_view> unfoldings) const {
  const CellKind* kind = find_cell_kind(cell.kind);
  if (kind == nullptr ||
      std::find(unfoldings.begin(), unfoldings.end(), kind->unfolding) == unfoldings.end()) {
    std::string names;
    for (const std::string_view unfolding : unfoldings)
      names.append(names.empty() ? "" : ", ").append(cell_kind_names(unfolding));
    return error(cell.line, "kind: " + in_quotes(cell.kind) + " is not in the library for " +
                                std::string(whose) + ": " + names);
  }
  if (kind->sized && cell.hidden == 0)
    return error(cell.line, "hidden: is missing, kind " + in_quotes(cell.kind) + " needs it");
  if (!kind->sized && (cell.input != 0 || cell.hidden != 0))
    return error(cell.line, "a " + cell.kind + " cell has no sizes");
  if (const std::string_view key = foreign_key(cell, kind->keys); !key.empty())
    return error(cell.line, std::string(key) + ": a " + cell.kind + " cell has none");
  auto built = kind->build(cell.name, sizes_of(cell), &model_.weights, model_.name);
  if (!built) return error(cell.line, built.error().message);
  const Tensor* embedding = model_.weights.find(cell.name + ".embedding");
  if (cell.start > 0 && embedding != nullptr && !embedding->shape.empty() &&
      cell.start >= embedding->shape.front())
    return error(cell.line, "start: the embedding has rows of tokens below " +
                                std::to_string(embedding->shape.front()) + ", not of " +
                                std::to_string(cell.start));
  return built;
}

Result<Cell> Assembly::fold(Cell cell) {
  for (const Operator& op : cell.operators) read_.insert(op.weights.begin(), op.weights.end());
  if (options_.fold_bytes <= model_.folded_bytes) return cell;
  FoldedCell folded = fold_cell(cell, model_.weights, options_.fold_bytes - model_.folded_bytes);
  if (folded.tables.empty()) return cell;
  for (const FoldedTable& table : folded.tables) {
    if (Status added = add_table(table); !added) return tl::unexpected(added.error());
  }
  if (Status fits = infer(folded.cell, &model_.weights, model_.name); !fits)
    return tl::unexpected(fits.error());
  return std::move(folded.cell);
}

Status Assembly::add_table(const FoldedTable& table) {
  auto made = AlignedBuffer::make(static_cast<std::size_t>(table.bytes()));
  if (!made) return tl::unexpected(made.error());
  const auto memory = std::make_shared<const AlignedBuffer>(std::move(*made));
  if (Status computed = options_.fold_rows(table, memory->f32()); !computed) return computed;
  const Tensor tensor{DType::kF32, {table.ids, table.width}, {memory->data(), memory->size_bytes()}};
  model_.weights.add(table.name, tensor, memory);
  read_.insert(table.name);
  model_.folded_bytes += memory->size_bytes();
  return {};
}

// It may say anything: what one row of it takes is bounded as a whole.
Result<std::vector<Cell>> Assembly::given_cell(const CellDefinition& definition) const {
  if (sizes_of(definition) != CellSizes{})
    return error(definition.line, "a cell of a file has no sizes: they stand in the file");
  Cell cell = *definition.given;
  cell.name = definition.name;
  const std::vector<StateKind> declared = cell.states;
  if (Status fine = infer(cell, &model_.weights, model_.name); !fine)
    return error(definition.line, fine.error().message);
  for (const StateKind& state : declared) {
    if (std::find(cell.states.begin(), cell.states.end(), state) != cell.states.end()) continue;
    return error(definition.line, "cell " + in_quotes(cell.name) + ": the state " + in_quotes(state.name) +
                                      " is declared as " + described(state.dtype, state.shape) +
                                      ", and no scatter publishes it so");
  }
  std::int64_t numbers = 0;
  for (const Value& value : cell.values) numbers += elements(value.shape);
  if (numbers > kMaxValueElements)
    return error(definition.line, "cell " + in_quotes(cell.name) + ": its values have " +
                                      std::to_string(numbers) + " elements in all, may have " +
                                      std::to_string(kMaxValueElements));
  return only(std::move(cell));
}

CellTypeSpec Assembly::type_of(const CellDefinition& definition, Cell cell) const {
  CellTypeSpec type;
  type.name = cell.name;
  type.cell = std::move(cell);
  type.priority = static_cast<std::int32_t>(definition.priority);
  type.max_batch = options_.max_batch == 0 ? definition.max_batch : options_.max_batch;
  type.min_batch = std::min(definition.min_batch, type.max_batch);
  type.max_edges = definition.max_edges;
  return type;
}

Result<Assembly::Pulls> Assembly::pulled_inputs(const Cell& cell, const LaneDefinition& lane) const {
  Pulls pulls{};
  const auto sequence = sequence_of(lane);
  if (!sequence) return tl::unexpected(sequence.error());
  const auto usual = usual_input(lane, *sequence);
  if (!usual && lane.pull.empty() && cell.pulls > 0) {
    return error(lane.line, "pull: no input has a row for each step of " + in_quotes(lane.over) +
                                ", and the cell reads one");
  }
  if (!lane.pull.empty() && lane.pull.size() != cell.pulls) {
    return error(lane.line, "pull: names " + std::to_string(lane.pull.size()) + " inputs, the cell reads " +
                                std::to_string(cell.pulls));
  }
  pulls.fill(usual.value_or(0));
  for (std::size_t i = 0; i < lane.pull.size(); ++i) {
    const auto input = find_named(model_.inputs, lane.pull[i]);
    if (!input) return error(lane.line, "pull: there is no input " + in_quotes(lane.pull[i]));
    if (model_.inputs[*input].sequence != *sequence)
      return error(lane.line, "pull: the rows of input " + in_quotes(lane.pull[i]) +
                                  " are steps of another sequence than the lane's");
    pulls[i] = *input;
  }
  return pulls;
}

Status Assembly::map_pulls(const Cell& cell, const LaneDefinition& lane, Pulls& pulls) {
  const auto inputs = pulled_inputs(cell, lane);
  if (!inputs) return tl::unexpected(inputs.error());
  pulls = *inputs;
  for (const Operator& op : cell.operators) {
    if (!op.is(kPullOp)) continue;
    if (Status status = match_input(cell, op, pulls[op.index]); !status) return status;
  }
  return {};
}

// Ids must be in the table that they look up; an input without a vocabulary gets the table's.
Status Assembly::match_input(const Cell& cell, const Operator& pull, std::uint8_t number) {
  InputSpec& input = model_.inputs[number];
  const std::uint32_t line = definition_.inputs[number].line;
  const Value& wanted = cell.values[pull.output];
  if (wanted.dtype != input.dtype || wanted.shape != input.shape) {
    return error(line, "input " + in_quotes(input.name) + ": is " + described(input.dtype, input.shape) +
                           ", the cell reads " + described(wanted.dtype, wanted.shape));
  }
  for (const Operator& op : cell.operators) {
    if (!op.is(kEmbedOp) || cell.unshaped(op.inputs[0]) != pull.output) continue;
    const std::int64_t rows = model_.weights.find(op.weights[0])->shape[0];
    const bool said = definition_.inputs[number].vocabulary != 0;
    if (said && input.vocabulary > rows) {
      return error(line, "vocabulary: is larger than the " + std::to_string(rows) + " rows of " +
                             in_quotes(op.weights[0]));
    }
    // Of several tables the smallest: each must have a row for each id.
    const std::int64_t most = input.vocabulary == 0 ? std::int64_t{1} << 31 : input.vocabulary;
    if (!said) input.vocabulary = std::min(rows, most);
  }
  return {};
}

Status Assembly::map_pushes(const Cell& cell, const LaneDefinition& lane,
                            std::array<LanePush, kMaxPushes>& pushes, std::vector<bool>& written) {
  const std::size_t outputs = model_.outputs.size();
  if (lane.push.empty() && definition_.lanes.size() > 1) return {};
  if (!lane.push.empty() && lane.push.size() != cell.pushes) {
    return error(lane.line, "push: names " + std::to_string(lane.push.size()) + " outputs, the cell emits " +
                                std::to_string(cell.pushes));
  }
  for (const Operator& op : cell.operators) {
    if (!op.is(kPushOp)) continue;
    const auto output = lane.push.empty() ? std::optional(static_cast<std::uint8_t>(op.index))
                                          : find_named(model_.outputs, lane.push[op.index]);
    if (lane.push.empty() && *output >= outputs) continue;  // emitted, but not wanted
    if (!output) return error(lane.line, "push: there is no output " + in_quotes(lane.push[op.index]));
    if (written[*output])
      return error(lane.line, "push: output " + in_quotes(lane.push[op.index]) + " is written twice");
    written[*output] = true;
    if (Status status = match_output(cell.values[op.inputs[0]], *output); !status) return status;
    pushes[op.index] = {.output = *output, .every = model_.outputs[*output].every};
  }
  return {};
}

Status Assembly::check_written(const std::vector<bool>& written) const {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (!written[i])
      return error(definition_.outputs[i].line,
                   "output " + in_quotes(model_.outputs[i].name) + ": nothing writes it");
  }
  return {};
}

Status Assembly::match_output(const Value& emitted, std::uint8_t number) {
  const OutputDefinition& wanted = definition_.outputs[number];
  if (wanted.dtype.value_or(emitted.dtype) != emitted.dtype ||
      wanted.shape.value_or(emitted.shape) != emitted.shape) {
    return error(wanted.line, "output " + in_quotes(wanted.name) + ": the cell emits " +
                                  described(emitted.dtype, emitted.shape));
  }
  const bool candidates = emitted.dtype == DType::kI32 && emitted.shape.size() == 2 && emitted.shape[0] == 2;
  if (wanted.path && !candidates) {
    return error(wanted.line, "path: the cell emits " + described(emitted.dtype, emitted.shape) +
                                  ", a path is of i32[2, candidates]");
  }
  model_.outputs[number].dtype = emitted.dtype;
  model_.outputs[number].shape = emitted.shape;
  return {};
}

// A tensor that no cell reads is a part of the network that is not served: its answers would be wrong.
Status Assembly::check_all_read() const {
  for (const auto& [name, tensor] : model_.weights.all()) {
    if (!read_.contains(name)) {
      return invalid(std::string(file_) + ": no cell reads the weight " + in_quotes(name) +
                     " of the weights' file; describe what does, or leave it out of the file");
    }
  }
  return {};
}

Result<Model> Assembly::run() {
  const UnfoldingKind* kind = find_unfolding_kind(definition_.unfolding);
  if (kind == nullptr) {
    std::string names;
    for (const UnfoldingKind* one : unfolding_kinds())
      names.append(names.empty() ? "" : ", ").append(in_quotes(std::string(one->name)));
    return error(1, "unfolding: " + in_quotes(definition_.unfolding) + " is not served; there are: " + names);
  }
  Status status = read_sequences();
  if (status) status = read_inputs();
  if (status) status = read_outputs();
  if (status) status = kind->build(*this);
  if (status) status = check_all_read();
  if (status) status = check_paths();
  if (status) status = check_windows_used();
  if (status && definition_.min_length > 1 && model_.plan.lanes.empty())
    status = error(1, "min_length: is of chains and lanes, whose requests have steps");
  if (!status) return tl::unexpected(status.error());
  std::uint32_t line = 1;
  if (!definition_.cells.empty()) line = definition_.cells[0].line;
  if (!definition_.lanes.empty()) line = definition_.lanes[0].line;
  if (status = validate(model_); !status) return error(line, status.error().message);
  return std::move(model_);
}

Result<Model> assemble(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
                       std::string_view file) {
  return Assembly(definition, std::move(weights), options, file).run();
}

}  // namespace volvox
