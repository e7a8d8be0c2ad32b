#include "actors/catalog.h"

namespace volvox {

Catalog::Catalog(const Installation& installation) {
  for (const auto& model : installation.models)
    models_[model->model->name][model->model->version] = model.get();
}

Result<const InstalledModel*> Catalog::find(std::string_view name, std::uint32_t version) const {
  const auto versions = models_.find(name);
  if (versions == models_.end()) {
    std::string message = "no model has this name; there are";
    for (const auto& [known, ignored] : models_) message.append(" '").append(known).append("'");
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
  std::vector<std::uint32_t> numbers;
  if (const auto found = models_.find(name); found != models_.end()) {
    for (const auto& [number, ignored] : found->second) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace volvox
