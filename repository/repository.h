#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/model/assemble.h"
#include "cells/model/model.h"

namespace volvox {

// A model as it lies in a repository, not loaded.
struct RepositoryEntry {
  std::filesystem::path path;           // <repository>/<model>
  std::string name;                     // of the folder
  std::vector<std::uint32_t> versions;  // ascending
};

// The models of a repository, by name: every folder that holds a model.toml. Fails when the folder cannot be
// read.
Result<std::vector<RepositoryEntry>> list_models(const std::filesystem::path& repository);

// The versions of a model, ascending: its folders <whole number>/ that hold weights.safetensors.
std::vector<std::uint32_t> list_versions(const std::filesystem::path& model);

// Loads one version of a model from its folder (docs/models.md): reads model.toml and the cells beside it,
// maps and checks the weights, builds, splits and checks the cells. Takes as long as reading the weights once
// (their digest). kModelNotFound when there is no such model or version; any other error says which file, and
// where in it, is wrong. Two loads share nothing but the page cache. The digest does not depend on the
// options.
Result<std::shared_ptr<const Model>> load_model(const std::filesystem::path& model,
                                                const LoadOptions& options = {});

}  // namespace volvox
