#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/model/model_definition.h"
#include "repository/kinds/model_kind.h"
#include "repository/safetensors.h"

namespace volvox {

// New models to try a server with.

// What all new models have in common.
struct NewModel {
  std::filesystem::path path{};  // the folder to write: <repository>/<name>
  std::string name{};            // empty: the folder's own
  std::uint32_t max_batch = 0;   // 0: the kind's own default
  bool overwrite = false;
  bool every_step = false;  // the output has a row for every step or node instead of the last one's only
};

// A model of these cells and weights. Cells that are given are written beside the definition.
Status write_model(const NewModel& model, ModelDefinition definition, std::span<const TensorSource> tensors);

// Writes a whole model folder (model.toml and 1/weights.safetensors) of a kind of repository/kinds/, with
// weights from the seed (repository/seeded_weights.h): beside its place first, then renamed, so that nobody
// ever sees half a model. An existing path is refused unless `overwrite` is set; it is then replaced. Parent
// folders are made. INVALID_ARGUMENT for a kind or sizes that there are not, kUnavailable when the disk
// refuses.
Status write_new_model(const NewModel& model, std::string_view kind, NewSizes sizes = {});

}  // namespace volvox
