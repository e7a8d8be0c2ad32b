#include "repository/model_writer.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/text.h"
#include "cells/ir/cell.h"
#include "cells/model/model_definition.h"
#include "repository/cell_file.h"
#include "repository/model_toml.h"
#include "repository/safetensors.h"
#include "repository/seeded_weights.h"

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
  if (model.overwrite && fs::exists(target, ignored) &&
      !fs::is_regular_file(target / "model.toml", ignored)) {
    return invalid(target.string() +
                   ": is no model, and is not overwritten; name the model's own folder, REPOSITORY/NAME");
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

bool in_range(std::uint32_t number) {
  return number >= 1 && number <= 65536;
}

Status check_sizes(const ModelKind& kind, const NewSizes& sizes) {
  if (!in_range(sizes.hidden) || !in_range(sizes.input))
    return invalid("hidden and input must be from 1 to 65536");
  if (sizes.vocabulary < 1 || sizes.vocabulary > (1U << 24))
    return invalid("vocabulary must be from 1 to 16777216");
  if (sizes.layers > std::max(kind.most_layers, 1U))
    return invalid("layers must be from 1 to " + std::to_string(std::max(kind.most_layers, 1U)));
  if (!in_range(sizes.steps) || !in_range(sizes.labels))
    return invalid("steps and labels must be from 1 to 65536");
  return {};
}

std::string kind_names() {
  std::string names;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) names.append(names.empty() ? "" : ", ").append(kind.name);
  }
  return names;
}

}  // namespace

Status write_new_model(const NewModel& model, std::string_view kind_name, NewSizes sizes) {
  const ModelKind* kind = find_model_kind(kind_name);
  if (kind == nullptr) {
    return invalid("there is no kind " + in_quotes(std::string(kind_name)) + " of model; there are " +
                   kind_names());
  }
  if (sizes.input == 0) sizes.input = kind->usual_input == 0 ? sizes.hidden : kind->usual_input;
  if (Status fine = check_sizes(*kind, sizes); !fine) return fine;
  if (model.every_step && !kind->may_push_every)
    return invalid("a " + std::string(kind_name) + " has no choice of which steps it answers");
  ModelDefinition definition = kind->define(sizes, model.every_step);
  const auto weights = SeededWeights::make(definition, sizes);
  if (!weights) return tl::unexpected(weights.error());
  return write_model(model, std::move(definition), weights->tensors());
}

}  // namespace volvox
