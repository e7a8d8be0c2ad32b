#include "actors/node/model_source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/text.h"
#include "repository/repository.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

LoadOptions load_options(const BatchingSection& batching, const FoldRows& folding, std::uint32_t version) {
  LoadOptions options;
  options.version = version;
  options.eager = batching.eager != EagerChoice::kOff;
  options.eager_from_bytes = batching.eager == EagerChoice::kAuto ? kEagerFromBytes : 0;
  options.eager_window = batching.eager_window;
  if (folding) {
    options.fold_bytes = std::uint64_t{batching.fold_mib} << 20;
    options.fold_rows = folding;
  }
  return options;
}

std::string names_of(const std::vector<RepositoryEntry>& entries) {
  if (entries.empty()) return "nothing";
  return listed(entries, [](const RepositoryEntry& entry) { return in_quotes(entry.name); });
}

// Folders may have models of one name, as their model.toml says; which of two equal ones is asked for, nobody
// could tell.
Result<std::shared_ptr<const Model>> once(const LoadedRepository& loaded, std::shared_ptr<const Model> model,
                                          const std::string& path) {
  const auto is_same = [&](const auto& other) {
    return other->name == model->name && other->version == model->version;
  };
  if (std::ranges::none_of(loaded.models, is_same)) return model;
  return invalid(
      path + " is version " + std::to_string(model->version) + " of the model '" + model->name +
      "' as another folder is; give it another name in its model.toml, or take it out of the repository");
}

Status load_versions(const RepositoryEntry& entry, const ServeConfig& config, const FoldRows& folding,
                     LoadedRepository& loaded) {
  for (const std::uint32_t version : entry.versions) {
    auto model = load_model(entry.path, load_options(config.batching, folding, version));
    if (model) model = once(loaded, std::move(*model), entry.path);
    if (model) {
      loaded.models.push_back(std::move(*model));
    } else if (config.server.bad_models == BadModels::kSkip) {
      spdlog::error("skipped model '{}' version {}: {}", entry.name, version, model.error().message);
      ++loaded.skipped;
    } else {
      return tl::unexpected(model.error());
    }
  }
  return {};
}

}  // namespace

ModelSource repository_source(const ServeConfig& config, const FoldRows& folding) {
  return [folder = config.server.models, batching = config.batching, folding](
             const std::string& name, std::uint32_t version) -> Result<std::shared_ptr<const Model>> {
    const auto entries = list_models(folder);
    if (!entries) return tl::unexpected(entries.error());
    const auto entry = std::find_if(entries->begin(), entries->end(),
                                    [&](const RepositoryEntry& found) { return found.name == name; });
    if (entry != entries->end()) return load_model(entry->path, load_options(batching, folding, version));
    return fail(ErrorCode::kModelNotFound,
                "the repository '" + folder + "' has no such model; it has " + names_of(*entries));
  };
}

Result<LoadedRepository> load_repository(const ServeConfig& config, const FoldRows& folding) {
  const std::string& folder = config.server.models;
  const auto entries = list_models(folder);
  const std::string what_to_do = "; write one with `volvox models new lstm " +
                                 (fs::path(folder) / "lstm").string() +
                                 "`, or name another folder with --models";
  if (!entries) return fail(entries.error().code, entries.error().message + what_to_do);
  LoadedRepository loaded;
  for (const RepositoryEntry& entry : *entries) {
    if (const Status good = load_versions(entry, config, folding, loaded); !good)
      return tl::unexpected(good.error());
  }
  if (!loaded.models.empty()) return loaded;
  if (loaded.skipped > 0)
    return fail(ErrorCode::kModelNotFound, "no model in '" + folder + "' can be loaded; the log says why");
  return fail(ErrorCode::kModelNotFound, "there is no model in '" + folder + "'" + what_to_do);
}

}  // namespace volvox
