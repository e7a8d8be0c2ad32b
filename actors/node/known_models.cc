#include "actors/node/known_models.h"

#include <algorithm>
#include <utility>

namespace volvox {

Status KnownModels::learn(const InstalledModel& model) {
  if (model.id < models_.size() && models_[model.id].serial == model.serial) return {};
  if (Status added = brain_.add_model(model.parts); !added) return added;
  const Model& definition = *model.model;
  Known known{model.serial,
              definition.name + "/" + std::to_string(definition.version),
              model.first_type,
              model.first_pool,
              {},
              static_cast<std::uint32_t>(definition.pools.size())};
  for (const CellTypeSpec& type : definition.types) known.types.push_back(type.name);
  const std::size_t types = known.first_type + known.types.size();
  batches_.resize(std::max(batches_.size(), types));
  types_.resize(batches_.size());
  for (const TypeConfig& type : model.parts.types) types_[type.id] = type;
  for (std::size_t t = known.first_type; t < types; ++t) batches_[t] = {};
  models_.resize(std::max<std::size_t>(models_.size(), model.id + 1));
  models_[model.id] = std::move(known);
  for (ModelId id = 0; id < models_.size(); ++id) {
    if (!brain_.has_model(id)) models_[id] = {};  // it had numbers that are this one's now
  }
  return {};
}

bool KnownModels::forget(ModelId id, std::uint64_t serial) {
  if (id >= models_.size() || models_[id].serial != serial) return true;
  if (!brain_.remove_model(id)) return false;
  models_[id] = {};
  return true;
}

// Two may have one name while the first gives way to the second: it is called so no longer.
bool KnownModels::is_named(const Known& known) const {
  return known.serial != 0 && std::none_of(models_.begin(), models_.end(), [&](const Known& other) {
           return other.name == known.name && other.serial > known.serial;
         });
}

std::string KnownModels::name_of(CellTypeId type) const {
  for (const Known& known : models_) {
    if (type - known.first_type < known.types.size())
      return known.name + "/" + known.types[type - known.first_type];
  }
  return "?";
}

void KnownModels::describe(const SchedulerStats& stats, EngineSnapshot& snapshot) const {
  for (ModelId id = 0; id < models_.size(); ++id) {
    const Known& known = models_[id];
    if (!is_named(known)) continue;
    const auto& load = stats.models.at(id);
    snapshot.models.push_back({known.name, load.live, load.waiting, load.device_us * 1e-6});
    for (CellTypeId t = 0; t < known.types.size(); ++t) {
      const CellTypeId type = known.first_type + t;
      const auto& counts = stats.types.at(type);
      snapshot.types.push_back(
          {known.name, known.types[t], batches_[type], counts.padding, counts.ready, counts.running});
    }
    for (PoolId p = 0; p < known.pools; ++p) {
      const auto& pool = stats.pools.at(known.first_pool + p);
      snapshot.pools.push_back({known.name + "/" + std::to_string(p), pool.slots, pool.reserved, pool.used});
    }
  }
}

}  // namespace volvox
