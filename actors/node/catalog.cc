#include "actors/node/catalog.h"

#include <utility>

#include "base/text.h"

namespace volvox {

std::shared_ptr<const Catalog::Names> Catalog::now() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

Result<ModelPtr> Catalog::find(std::string_view name, std::uint32_t version) const {
  const auto names = now();
  const auto versions = names->find(name);
  if (versions == names->end()) {
    if (names->empty()) return fail(ErrorCode::kModelNotFound, "no model is loaded");
    const auto name_of = [](const auto& known) { return in_quotes(known.first); };
    return fail(ErrorCode::kModelNotFound, "no model has this name; there are " + listed(*names, name_of));
  }
  if (version == 0) return versions->second.rbegin()->second;
  const auto found = versions->second.find(version);
  if (found != versions->second.end()) return found->second;
  const auto number_of = [](const auto& known) { return std::to_string(known.first); };
  return fail(ErrorCode::kModelNotFound, "the model has no version " + std::to_string(version) + "; it has " +
                                             listed(versions->second, number_of));
}

std::vector<std::uint32_t> Catalog::versions(std::string_view name) const {
  const auto names = now();
  std::vector<std::uint32_t> numbers;
  if (const auto found = names->find(name); found != names->end()) {
    for (const auto& [number, ignored] : found->second) numbers.push_back(number);
  }
  return numbers;
}

std::vector<ModelPtr> Catalog::all() const {
  const auto names = now();
  std::vector<ModelPtr> models;
  for (const auto& [ignored, versions] : *names) {
    for (const auto& [number, model] : versions) models.push_back(model);
  }
  return models;
}

ModelPtr Catalog::put(const ModelPtr& model) {
  const std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Names>(*names_);
  ModelPtr replaced = std::exchange((*changed)[model->model->name][model->model->version], model);
  names_ = std::move(changed);
  return replaced;
}

ModelPtr Catalog::take(std::string_view name, std::uint32_t version) {
  const std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Names>(*names_);
  const auto versions = changed->find(name);
  if (versions == changed->end()) return nullptr;
  const auto found = versions->second.find(version);
  if (found == versions->second.end()) return nullptr;
  ModelPtr taken = std::move(found->second);
  versions->second.erase(found);
  if (versions->second.empty()) changed->erase(versions);
  names_ = std::move(changed);
  return taken;
}

}  // namespace volvox
