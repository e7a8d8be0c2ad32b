#include "cells/assemble.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cells/cell_kinds.h"
#include "cells/split.h"
#include "cells/text.h"

namespace volvox {
namespace {

template <class T>
std::optional<std::uint8_t> find_named(const std::vector<T>& all, std::string_view name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& item) { return item.name == name; });
  if (it == all.end()) return std::nullopt;
  return static_cast<std::uint8_t>(it - all.begin());
}

// Bytes of the matrices that the cell multiplies by.
std::uint64_t product_bytes(const Cell& cell) {
  std::int64_t weights = 0;
  for (const Operator& op : cell.operators) {
    if (op.kind != OpKind::kProduct) continue;
    const std::size_t terms = op.inputs.size() - (op.has_start ? 1 : 0);
    for (std::size_t i = 0; i < terms; ++i) {
      weights += elements(cell.values[op.output].shape) * elements(cell.values[op.inputs[i]].shape);
    }
  }
  return static_cast<std::uint64_t>(weights) * sizeof(float);
}

// Builds one model. Each step may fail, and says on what line.
class Assembly {
 public:
  Assembly(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
           std::string_view file)
      : definition_(definition), options_(options), file_(file) {
    model_.name = definition.name;
    model_.max_length = definition.max_length;
    model_.weights = std::move(weights);
  }

  Result<Model> run();

 private:
  tl::unexpected<Error> error(std::uint32_t line, const std::string& why) const;
  Status read_unfolding();
  Status read_inputs();
  Status read_outputs();
  Result<std::vector<Cell>> library_cells(const CellDefinition& cell) const;
  Status build_chain(const CellDefinition& definition, Cell whole, const LaneDefinition& lane);
  Status build_tree(const CellDefinition& definition, std::vector<Cell> cells, const LaneDefinition& lane);
  CellTypeSpec type_of(const CellDefinition& definition, Cell cell) const;
  void add_eager_lane(const CellDefinition& definition, Cell cell, const LaneSpec& core);
  using Pulls = std::array<std::uint8_t, kMaxPulls>;
  using Pushes = std::array<LanePush, kMaxPushes>;
  Status map_pulls(const Cell& cell, const LaneDefinition& lane, Pulls& pulls);
  Status map_pushes(const Cell& cell, const LaneDefinition& lane, Pushes& pushes);
  Status match_input(const Cell& cell, const Operator& pull, std::uint8_t input);
  Status match_output(const Value& emitted, std::uint8_t output);

  const ModelDefinition& definition_;
  const LoadOptions& options_;
  std::string_view file_;
  Model model_;
};

tl::unexpected<Error> Assembly::error(std::uint32_t line, const std::string& why) const {
  std::string text(file_);
  text += ':';
  text += std::to_string(line);
  text += ": ";
  return invalid(text + why);
}

Status Assembly::read_unfolding() {
  if (definition_.unfolding != "chain" && definition_.unfolding != "tree") {
    return error(
        1, "unfolding: " + in_quotes(definition_.unfolding) + " is not served, only 'chain' and 'tree' are");
  }
  const std::string what = "a " + definition_.unfolding;
  model_.unfolding = definition_.unfolding == "tree" ? Unfolding::kTree : Unfolding::kChain;
  if (definition_.cells.size() != 1) {
    return error(1, "cell: " + what + " has one cell, here are " + std::to_string(definition_.cells.size()));
  }
  if (definition_.lanes.size() > 1) {
    return error(definition_.lanes[1].line,
                 "lane: " + what + " has one lane, here are " + std::to_string(definition_.lanes.size()));
  }
  if (definition_.inputs.empty()) {
    return error(1, "input: " + what + " needs at least one, whose rows are its " +
                        (model_.unfolding == Unfolding::kTree ? "nodes" : "steps"));
  }
  return {};
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
    model_.inputs.push_back({input.name, input.dtype, input.shape, input.vocabulary});
  }
  return {};
}

Status Assembly::read_outputs() {
  if (definition_.outputs.size() > kMaxOutputs) {
    return error(definition_.outputs.back().line,
                 "output: at most " + std::to_string(kMaxOutputs) + " are possible");
  }
  for (const OutputDefinition& output : definition_.outputs) {
    if (find_named(model_.outputs, output.name)) {
      return error(output.line, "output: " + in_quotes(output.name) + " comes twice");
    }
    model_.outputs.push_back({output.name, DType::kF32, {}, output.every});
  }
  return {};
}

Result<std::vector<Cell>> Assembly::library_cells(const CellDefinition& cell) const {
  const CellKind* kind = find_cell_kind(cell.kind);
  if (kind == nullptr || kind->unfolding != model_.unfolding) {
    return error(cell.line, "kind: " + in_quotes(cell.kind) + " is not in the library for a " +
                                definition_.unfolding + ": " + cell_kind_names(model_.unfolding));
  }
  if (kind->sized && cell.hidden == 0)
    return error(cell.line, "hidden: is missing, kind " + in_quotes(cell.kind) + " needs it");
  if (!kind->sized && (cell.input != 0 || cell.hidden != 0))
    return error(cell.line, "a " + cell.kind + " cell has no sizes");
  const CellSizes sizes{.input = cell.input == 0 ? cell.hidden : cell.input, .hidden = cell.hidden};
  auto built = build_cells(*kind, cell.name, sizes, &model_.weights, model_.name);
  if (!built) return error(cell.line, built.error().message);
  return built;
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

// The eager lane comes first: type, pool and lane 0. It yields to its core, which is closer to an answer.
void Assembly::add_eager_lane(const CellDefinition& definition, Cell cell, const LaneSpec& core) {
  CellTypeSpec type = type_of(definition, std::move(cell));
  --type.priority;
  type.independent = true;
  LaneSpec lane{.ring = std::max(options_.eager_window, 1U)};
  lane.pulls = core.pulls;
  model_.pools.push_back({type.cell.states});
  model_.types.push_back(std::move(type));
  model_.plan.lanes.push_back(std::move(lane));
}

Status Assembly::build_chain(const CellDefinition& definition, Cell whole, const LaneDefinition& lane) {
  LaneSpec core;
  if (Status status = map_pulls(whole, lane, core.pulls); !status) return status;
  if (Status status = map_pushes(whole, lane, core.pushes); !status) return status;
  SplitCell split{std::nullopt, std::move(whole), 0};
  if (options_.eager && product_bytes(split.core) >= options_.eager_from_bytes) {
    Result<SplitCell> parts = split_cell(split.core);
    if (!parts) return error(definition.line, parts.error().message);
    split = std::move(*parts);
  }
  if (split.eager) add_eager_lane(definition, std::move(*split.eager), core);
  const auto self = static_cast<std::uint8_t>(model_.plan.lanes.size());
  CellTypeSpec type = type_of(definition, std::move(split.core));
  core.type = core.pool = type.out_pool = self;
  core.has_state = !type.cell.states.empty();
  for (std::uint32_t gather = 0; gather < type.cell.gathers; ++gather) {
    const bool eager = split.eager && gather == split.gather;
    type.gather_pools[gather] = eager ? 0 : self;
    core.edges.push_back({.gather = static_cast<std::uint8_t>(gather),
                          .from = eager ? std::uint8_t{0} : self,
                          .offset = eager ? 0 : -1});
  }
  model_.pools.push_back({type.cell.states});
  model_.types.push_back(std::move(type));
  model_.plan.lanes.push_back(std::move(core));
  return {};
}

// A tree's cells are not split: an eager part would keep its states in a pool of its own. Leaves come first,
// and yield to inner nodes, which are closer to an answer.
Status Assembly::build_tree(const CellDefinition& definition, std::vector<Cell> cells,
                            const LaneDefinition& lane) {
  TreePlan& tree = model_.tree;
  if (Status status = map_pulls(cells.front(), lane, tree.pulls); !status) return status;
  for (const Cell& cell : cells) {
    if (Status status = map_pushes(cell, lane, tree.pushes); !status) return status;
  }
  tree.binary = cells.size() == 2;
  tree.inner = tree.binary ? 1 : 0;
  tree.inner_pulls = cells.back().pulls > 0;
  tree.max_children = definition.max_edges;
  model_.pools.push_back({cells.front().states});
  for (Cell& cell : cells) model_.types.push_back(type_of(definition, std::move(cell)));
  if (tree.binary) --model_.types.front().priority;
  return {};
}

Status Assembly::map_pulls(const Cell& cell, const LaneDefinition& lane, Pulls& pulls) {
  const std::optional<std::uint8_t> over = lane.over.empty() ? 0 : find_named(model_.inputs, lane.over);
  if (!over) return error(lane.line, "over: there is no input " + in_quotes(lane.over));
  if (!lane.pull.empty() && lane.pull.size() != cell.pulls) {
    return error(lane.line, "pull: names " + std::to_string(lane.pull.size()) + " inputs, the cell reads " +
                                std::to_string(cell.pulls));
  }
  pulls.fill(*over);
  for (std::size_t i = 0; i < lane.pull.size(); ++i) {
    const auto input = find_named(model_.inputs, lane.pull[i]);
    if (!input) return error(lane.line, "pull: there is no input " + in_quotes(lane.pull[i]));
    pulls[i] = *input;
  }
  for (const Operator& op : cell.operators) {
    if (op.kind != OpKind::kPull) continue;
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
    return error(line, "input " + in_quotes(input.name) + ": is " + std::string(to_string(input.dtype)) +
                           to_string(input.shape) + ", the cell reads " +
                           std::string(to_string(wanted.dtype)) + to_string(wanted.shape));
  }
  for (const Operator& op : cell.operators) {
    if (op.kind != OpKind::kEmbed || op.inputs[0] != pull.output) continue;
    const std::int64_t rows = model_.weights.find(op.weights[0])->shape[0];
    if (input.vocabulary > rows) {
      return error(line, "vocabulary: is larger than the " + std::to_string(rows) + " rows of " +
                             in_quotes(op.weights[0]));
    }
    if (input.vocabulary == 0) input.vocabulary = std::min<std::int64_t>(rows, std::int64_t{1} << 31);
  }
  return {};
}

Status Assembly::map_pushes(const Cell& cell, const LaneDefinition& lane, Pushes& pushes) {
  const std::size_t outputs = model_.outputs.size();
  if (!lane.push.empty() && lane.push.size() != cell.pushes) {
    return error(lane.line, "push: names " + std::to_string(lane.push.size()) + " outputs, the cell emits " +
                                std::to_string(cell.pushes));
  }
  std::vector<bool> written(outputs, false);
  for (const Operator& op : cell.operators) {
    if (op.kind != OpKind::kPush) continue;
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
  for (std::size_t i = 0; i < outputs; ++i) {
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
                                  std::string(to_string(emitted.dtype)) + to_string(emitted.shape));
  }
  model_.outputs[number].dtype = emitted.dtype;
  model_.outputs[number].shape = emitted.shape;
  return {};
}

Result<Model> Assembly::run() {
  Status status = read_unfolding();
  if (status) status = read_inputs();
  if (status) status = read_outputs();
  if (!status) return tl::unexpected(status.error());
  const CellDefinition& cell = definition_.cells[0];
  LaneDefinition lane{.line = cell.line, .cell = cell.name};
  if (!definition_.lanes.empty()) lane = definition_.lanes[0];
  if (lane.cell != cell.name) return error(lane.line, "cell: there is no cell " + in_quotes(lane.cell));
  if (cell.min_batch > cell.max_batch) return error(cell.line, "min_batch: is larger than max_batch");
  auto cells = library_cells(cell);
  if (!cells) return tl::unexpected(cells.error());
  status = model_.unfolding == Unfolding::kTree ? build_tree(cell, std::move(*cells), lane)
                                                : build_chain(cell, std::move(cells->front()), lane);
  if (!status) return tl::unexpected(status.error());
  if (status = validate(model_); !status) return error(lane.line, status.error().message);
  return std::move(model_);
}

}  // namespace

Result<Model> assemble(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
                       std::string_view file) {
  return Assembly(definition, std::move(weights), options, file).run();
}

}  // namespace volvox
