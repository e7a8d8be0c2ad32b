#include "cells/model_writer.h"

#include <cmath>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cells/model_definition.h"
#include "cells/random.h"
#include "cells/safetensors.h"
#include "cells/text.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

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
  if (model.max_batch > 0) definition.cells[0].max_batch = model.max_batch;
  std::error_code ignored;
  if (!model.overwrite && fs::exists(target, ignored)) {
    return invalid(target.string() + ": exists already; choose another place, or ask to overwrite it");
  }
  StagedFolder staged(target);
  Status status = staged.make();
  if (status) status = write_text(staged.path() / "model.toml", to_toml(definition));
  if (status) status = write_safetensors(staged.path() / "1" / "weights.safetensors", tensors);
  if (status) status = staged.publish(model.overwrite);
  return status;
}

ModelDefinition definition_of(const std::string& kind) {
  ModelDefinition definition;
  definition.cells.push_back({.name = kind, .kind = kind, .max_batch = 512});
  definition.lanes.push_back({.cell = kind, .over = "tokens"});
  definition.inputs.push_back({.name = "tokens"});
  return definition;
}

class LstmWeights {
 public:
  explicit LstmWeights(const NewLstm& sizes) {
    Random random(sizes.seed);
    const std::int64_t hidden = sizes.hidden, input = sizes.input;
    const float bound = 1.0F / std::sqrt(static_cast<float>(hidden));
    add("lstm.weight_ih", {4 * hidden, input}, [&] { return random.uniform(bound); });
    add("lstm.weight_hh", {4 * hidden, hidden}, [&] { return random.uniform(bound); });
    add("lstm.bias", {4 * hidden}, [&] { return random.uniform(bound); });
    add("lstm.embedding", {sizes.vocabulary, input}, [&] { return random.normal(); });
  }

  std::span<const TensorSource> tensors() const { return tensors_; }

 private:
  template <class Draw>
  void add(std::string name, Shape shape, Draw draw) {
    std::vector<float> data(static_cast<std::size_t>(elements(shape)));
    for (float& x : data) x = draw();
    const auto bytes = std::as_bytes(std::span(data_.emplace_back(std::move(data))));
    tensors_.push_back({std::move(name), DType::kF32, std::move(shape), bytes});
  }

  std::vector<std::vector<float>> data_;
  std::vector<TensorSource> tensors_;
};

bool in_range(std::uint32_t number) {
  return number >= 1 && number <= 65536;
}

}  // namespace

Status write_lstm_model(const NewModel& model, const NewLstm& lstm) {
  NewLstm sizes = lstm;
  if (sizes.input == 0) sizes.input = sizes.hidden;
  if (!in_range(sizes.hidden) || !in_range(sizes.input))
    return invalid("hidden and input must be from 1 to 65536");
  if (sizes.vocabulary < 1 || sizes.vocabulary > (1U << 24))
    return invalid("vocabulary must be from 1 to 16777216");
  ModelDefinition definition = definition_of("lstm");
  definition.cells[0].hidden = sizes.hidden;
  definition.cells[0].input = sizes.input;
  definition.cells[0].max_batch = 64;
  definition.inputs[0].vocabulary = sizes.vocabulary;
  definition.outputs.push_back(
      {.name = "h", .dtype = DType::kF32, .shape = Shape{sizes.hidden}, .every = model.every_step});
  const LstmWeights weights(sizes);
  return write_model(model, std::move(definition), weights.tensors());
}

Status write_noop_model(const NewModel& model) {
  return write_model(model, definition_of("noop"), {});
}

Status write_check_model(const NewModel& model) {
  ModelDefinition definition = definition_of("check");
  definition.outputs.push_back(
      {.name = "state", .dtype = DType::kU64, .shape = Shape{}, .every = model.every_step});
  return write_model(model, std::move(definition), {});
}

}  // namespace volvox
