#include "actors/node/catalog.h"

#include <utility>

namespace volvox {

std::shared_ptr<const Catalog::Names> Catalog::now() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

Result<ModelPtr> Catalog::find(std::string_view name, std::uint32_t version) const {
  const auto names = now();
  const auto versions = names->find(name);
  if (versions == names->end()) {
    std::string message = names->empty() ? "no model is loaded" : "no model has this name; there are";
    for (const auto& [known, ignored] : *names) message.append(" '").append(known).append("'");
    return fail(ErrorCode::kModelNotFound, message);
  }
  if (version == 0) return versions->second.rbegin()->second;
  const auto found = versions->second.find(version);
  if (found != versions->second.end()) return found->second;
  std::string message = "the model has no version " + std::to_string(version) + "; it has";
  for (const auto& [known, ignored] : versions->second) message.append(" ").append(std::to_string(known));
  return fail(ErrorCode::kModelNotFound, message);
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
