#include "repository/model_writer.h"

#include <cmath>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/text.h"
#include "cells/ir/cell.h"
#include "cells/ir/lane_plan.h"
#include "repository/cell_file.h"
#include "repository/model_toml.h"
#include "repository/random.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMaxLayers = LanePlan::kMaxLanes / 2;  // each with a lane for what it computes ahead

Status disk_error(const fs::path& path, const std::string& why) {
  return fail(ErrorCode::kUnavailable, path.string() + ": " + why);
}

// A folder beside the one that it will become. Removed unless it was moved there.
class StagedFolder {
 public:
  explicit StagedFolder(const fs::path& target) : target_(target) {
    std::string name(1, '.');
    name += target.filename().string();
    name += '.';
    name += std::to_string(::getpid());
    path_ = target.parent_path() / name;
  }
  ~StagedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const fs::path& path() const { return path_; }

  Status make() {
    std::error_code error;
    fs::remove_all(path_, error);
    fs::create_directories(path_ / "1", error);
    return error ? disk_error(path_, error.message()) : Status{};
  }

  // Renaming over a folder works only when it is empty, so an old one is moved away first and then removed.
  Status publish(bool overwrite) {
    std::error_code error, ignored;
    const fs::path old = path_.string() + ".old";
    const bool replace = overwrite && fs::exists(target_, ignored);
    if (replace) fs::rename(target_, old, error);
    if (error) return disk_error(target_, error.message());
    fs::rename(path_, target_, error);
    if (error && replace) fs::rename(old, target_, ignored);
    fs::remove_all(old, ignored);
    return error ? disk_error(target_, error.message()) : Status{};
  }

 private:
  fs::path target_, path_;
};

// "models/x/" and "models/x" are the same folder. Empty when there is no such place.
fs::path folder_of(const NewModel& model) {
  std::error_code error;
  const fs::path path = fs::absolute(model.path, error).lexically_normal();
  if (error) return {};
  return path.has_filename() ? path : path.parent_path();
}

Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Status{} : disk_error(path, "cannot be written");
}

}  // namespace

Status write_model(const NewModel& model, ModelDefinition definition, std::span<const TensorSource> tensors) {
  const fs::path target = folder_of(model);
  if (!target.has_filename())
    return invalid(in_quotes(model.path.string()) + " is no folder that can be written");
  definition.name = model.name.empty() ? target.filename().string() : model.name;
  if (!is_valid_name(definition.name)) {
    return invalid(
        in_quotes(definition.name) +
        " is no name of a model: 1 to 64 letters, digits, '_', '-' and '.', the first a letter or digit");
  }
  if (model.max_batch > 0) {
    for (CellDefinition& cell : definition.cells) cell.max_batch = model.max_batch;
  }
  std::error_code ignored;
  if (!model.overwrite && fs::exists(target, ignored)) {
    return invalid(target.string() + ": exists already; choose another place, or ask to overwrite it");
  }
  StagedFolder staged(target);
  Status status = staged.make();
  if (status) status = write_text(staged.path() / "model.toml", to_toml(definition));
  for (const CellDefinition& cell : definition.cells) {
    if (status && cell.given != nullptr)
      status = write_text(staged.path() / cell_file_name(cell.name), to_json(*cell.given));
  }
  if (status) status = write_safetensors(staged.path() / "1" / "weights.safetensors", tensors);
  if (status) status = staged.publish(model.overwrite);
  return status;
}

namespace {

ModelDefinition definition_of(const std::string& name, const std::string& kind) {
  ModelDefinition definition;
  definition.cells.push_back({.name = name, .kind = kind, .max_batch = 512});
  definition.lanes.push_back({.cell = name, .over = "tokens"});
  definition.inputs.push_back({.name = "tokens"});
  return definition;
}

std::string layer_name(std::uint32_t layer) {
  return "layer" + std::to_string(layer);
}

ModelDefinition tree_definition_of(const std::string& kind) {
  ModelDefinition definition = definition_of("tree", kind);
  definition.unfolding = "tree";
  return definition;
}

// A lane of LSTM cells for each layer, over the one before.
ModelDefinition stack_definition_of(std::uint32_t layers) {
  ModelDefinition definition = definition_of(layer_name(0), "lstm");
  definition.unfolding = "lanes";
  for (std::uint32_t layer = 1; layer < layers; ++layer) {
    definition.cells.push_back({.name = layer_name(layer), .kind = "lstm_layer"});
    definition.lanes.push_back({.cell = layer_name(layer), .from = {layer_name(layer - 1)}});
  }
  definition.lanes.back().push = {"h"};
  return definition;
}

// Weights from a seed: uniform in ±1/√hidden, and embeddings. The order of the calls is part of the result.
class SeededWeights {
 public:
  explicit SeededWeights(const NewLstm& sizes)
      : random_(sizes.seed), bound_(1.0F / std::sqrt(static_cast<float>(sizes.hidden))) {}

  SeededWeights(SeededWeights&&) = default;  // never copied: the tensors view the data

  void add(std::string name, Shape shape) {
    fill(std::move(name), std::move(shape), [this] { return random_.uniform(bound_); });
  }
  void add_embedding(std::string name, Shape shape) {
    fill(std::move(name), std::move(shape), [this] { return random_.normal(); });
  }
  std::span<const TensorSource> tensors() const { return tensors_; }

 private:
  template <class Draw>
  void fill(std::string name, Shape shape, Draw draw) {
    std::vector<float> data(static_cast<std::size_t>(elements(shape)));
    for (float& x : data) x = draw();
    const auto bytes = std::as_bytes(std::span(data_.emplace_back(std::move(data))));
    tensors_.push_back({std::move(name), DType::kF32, std::move(shape), bytes});
  }

  Random random_;
  const float bound_;
  std::vector<std::vector<float>> data_;
  std::vector<TensorSource> tensors_;
};

void add_lstm(SeededWeights& weights, const std::string& name, std::int64_t input, std::int64_t hidden) {
  weights.add(name + ".weight_ih", {4 * hidden, input});
  weights.add(name + ".weight_hh", {4 * hidden, hidden});
  weights.add(name + ".bias", {4 * hidden});
}

SeededWeights lstm_weights(const NewLstm& sizes) {
  SeededWeights weights(sizes);
  add_lstm(weights, "lstm", sizes.input, sizes.hidden);
  weights.add_embedding("lstm.embedding", {sizes.vocabulary, sizes.input});
  return weights;
}

SeededWeights stack_weights(const NewLstm& sizes) {
  SeededWeights weights(sizes);
  for (std::uint32_t layer = 0; layer < sizes.layers; ++layer)
    add_lstm(weights, layer_name(layer), layer == 0 ? sizes.input : sizes.hidden, sizes.hidden);
  weights.add_embedding(layer_name(0) + ".embedding", {sizes.vocabulary, sizes.input});
  return weights;
}

SeededWeights binary_tree_weights(const NewLstm& sizes) {
  const std::int64_t hidden = sizes.hidden, input = sizes.input;
  SeededWeights weights(sizes);
  weights.add("tree.internal.left", {5 * hidden, hidden});
  weights.add("tree.internal.right", {5 * hidden, hidden});
  weights.add("tree.internal.bias", {5 * hidden});
  weights.add("tree.leaf.weight", {3 * hidden, input});
  weights.add("tree.leaf.bias", {3 * hidden});
  weights.add_embedding("tree.leaf.embedding", {sizes.vocabulary, input});
  return weights;
}

SeededWeights child_sum_weights(const NewLstm& sizes) {
  const std::int64_t hidden = sizes.hidden, input = sizes.input;
  SeededWeights weights(sizes);
  weights.add("tree.weight", {3 * hidden, input});
  weights.add("tree.children", {3 * hidden, hidden});
  weights.add("tree.bias", {3 * hidden});
  weights.add("tree.forget_weight", {hidden, input});
  weights.add("tree.forget_child", {hidden, hidden});
  weights.add("tree.forget_bias", {hidden});
  weights.add_embedding("tree.embedding", {sizes.vocabulary, input});
  return weights;
}

std::string back_name(std::uint32_t layer) {
  return layer_name(layer) + "_back";
}

// Two lanes for each layer, in both directions.
ModelDefinition bidirectional_definition_of(const NewLstm& sizes) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  for (std::uint32_t layer = 0; layer < sizes.layers; ++layer) {
    for (const bool back : {false, true}) {
      const std::string name = back ? back_name(layer) : layer_name(layer);
      definition.cells.push_back({.name = name,
                                  .kind = layer == 0 ? "lstm" : "lstm_layer_2",
                                  .input = layer == 0 ? sizes.input : sizes.hidden,
                                  .hidden = sizes.hidden});
      LaneDefinition lane{.cell = name, .reverse = back};
      if (layer > 0) lane.from = {layer_name(layer - 1), back_name(layer - 1)};
      if (layer + 1 == sizes.layers) lane.push = {back ? "h_back" : "h"};
      definition.lanes.push_back(std::move(lane));
    }
  }
  definition.outputs.push_back({.name = "h", .every = true});
  definition.outputs.push_back({.name = "h_back", .every = true});
  return definition;
}

SeededWeights bidirectional_weights(const NewLstm& sizes) {
  SeededWeights weights(sizes);
  for (std::uint32_t layer = 0; layer < sizes.layers; ++layer) {
    for (const std::string& name : {layer_name(layer), back_name(layer)}) {
      add_lstm(weights, name, layer == 0 ? sizes.input : 2 * std::int64_t{sizes.hidden}, sizes.hidden);
      if (layer == 0) weights.add_embedding(name + ".embedding", {sizes.vocabulary, sizes.input});
    }
  }
  return weights;
}

ModelDefinition seq2seq_definition_of(const NewLstm& sizes) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.cells.push_back(
      {.name = "encoder", .kind = "lstm", .input = sizes.input, .hidden = sizes.hidden});
  definition.cells.push_back(
      {.name = "decoder", .kind = "lstm_decoder", .input = sizes.input, .hidden = sizes.hidden, .start = 1});
  definition.lanes.push_back({.cell = "encoder", .over = "tokens"});
  definition.lanes.push_back(
      {.cell = "decoder", .initial = "encoder", .over = "target", .push = {"translation"}});
  definition.sequences.push_back(
      {.name = "target", .max_length = sizes.steps, .until = "translation", .equals = 0});
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  definition.outputs.push_back({.name = "translation", .dtype = DType::kI32, .every = true});
  return definition;
}

// The output projection has large weights, so that what a decoder says depends on what it has read.
SeededWeights seq2seq_weights(const NewLstm& sizes) {
  SeededWeights weights(sizes);
  for (const std::string name : {"encoder", "decoder"}) {
    add_lstm(weights, name, sizes.input, sizes.hidden);
    weights.add_embedding(name + ".embedding", {sizes.vocabulary, sizes.input});
  }
  weights.add_embedding("decoder.output", {sizes.vocabulary, sizes.hidden});
  weights.add("decoder.output_bias", {sizes.vocabulary});
  return weights;
}

bool in_range(std::uint32_t number) {
  return number >= 1 && number <= 65536;
}

Status check_sizes(NewLstm& sizes) {
  if (sizes.input == 0) sizes.input = sizes.hidden;
  if (!in_range(sizes.hidden) || !in_range(sizes.input))
    return invalid("hidden and input must be from 1 to 65536");
  if (sizes.vocabulary < 1 || sizes.vocabulary > (1U << 24))
    return invalid("vocabulary must be from 1 to 16777216");
  if (sizes.layers < 1 || sizes.layers > kMaxLayers)
    return invalid("layers must be from 1 to " + std::to_string(kMaxLayers));
  if (!in_range(sizes.steps)) return invalid("steps must be from 1 to 65536");
  return {};
}

// A cell with widths that pushes h.
Status write_recurrent_model(const NewModel& model, NewLstm sizes, ModelDefinition definition,
                             SeededWeights (*make_weights)(const NewLstm&)) {
  if (Status fine = check_sizes(sizes); !fine) return fine;
  for (CellDefinition& cell : definition.cells) {
    cell.hidden = cell.input = sizes.hidden;
    cell.max_batch = 64;
  }
  definition.cells[0].input = sizes.input;
  definition.inputs[0].vocabulary = sizes.vocabulary;
  definition.outputs.push_back(
      {.name = "h", .dtype = DType::kF32, .shape = Shape{sizes.hidden}, .every = model.every_step});
  const SeededWeights weights = make_weights(sizes);
  return write_model(model, std::move(definition), weights.tensors());
}

Status write_hashing_model(const NewModel& model, ModelDefinition definition) {
  definition.outputs.push_back(
      {.name = "state", .dtype = DType::kU64, .shape = Shape{}, .every = model.every_step});
  return write_model(model, std::move(definition), {});
}

}  // namespace

// A model of lanes, whose cells are as wide as the definition says.
static Status write_lanes_model(const NewModel& model, NewLstm sizes,
                                ModelDefinition (*define)(const NewLstm&),
                                SeededWeights (*make_weights)(const NewLstm&)) {
  if (Status fine = check_sizes(sizes); !fine) return fine;
  const SeededWeights weights = make_weights(sizes);
  return write_model(model, define(sizes), weights.tensors());
}

Status write_bidirectional_model(const NewModel& model, const NewLstm& lstm) {
  // Its lowest layer computes ahead in both directions.
  if (lstm.layers >= kMaxLayers)
    return invalid("layers must be from 1 to " + std::to_string(kMaxLayers - 1) + " in both directions");
  return write_lanes_model(model, lstm, bidirectional_definition_of, bidirectional_weights);
}

Status write_seq2seq_model(const NewModel& model, const NewLstm& sizes) {
  return write_lanes_model(model, sizes, seq2seq_definition_of, seq2seq_weights);
}

Status write_lstm_model(const NewModel& model, const NewLstm& lstm) {
  if (lstm.layers == 1)
    return write_recurrent_model(model, lstm, definition_of("lstm", "lstm"), lstm_weights);
  return write_recurrent_model(model, lstm, stack_definition_of(lstm.layers), stack_weights);
}

Status write_tree_model(const NewModel& model, const NewLstm& sizes, NewTreeKind kind) {
  return kind == NewTreeKind::kBinary
             ? write_recurrent_model(model, sizes, tree_definition_of("tree_lstm"), binary_tree_weights)
             : write_recurrent_model(model, sizes, tree_definition_of("child_sum"), child_sum_weights);
}

Status write_noop_model(const NewModel& model) {
  return write_model(model, definition_of("noop", "noop"), {});
}

Status write_check_model(const NewModel& model) {
  return write_hashing_model(model, definition_of("check", "check"));
}

Status write_check_tree_model(const NewModel& model) {
  return write_hashing_model(model, tree_definition_of("check_tree"));
}

}  // namespace volvox
