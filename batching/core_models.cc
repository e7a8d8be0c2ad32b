#include <algorithm>

#include "batching/core.h"

namespace volvox {
namespace {

template <class Value>
void grow(std::vector<Value>& values, std::size_t size, const Value& filler) {
  if (values.size() < size) values.resize(size, filler);
}

}  // namespace

void Scheduler::Core::note_model(const ModelConfig& model) {
  if (model.id >= models_.size()) models_.resize(model.id + 1);
  models_[model.id] = {};
  models_[model.id].present = true;
  models_[model.id].max_waiting = model.max_waiting;
}

Status Scheduler::Core::add_model(const ModelParts& parts) {
  if (!make_way(parts)) {
    return volvox::fail(ErrorCode::kUnavailable, "a request of a model with the same numbers is live");
  }
  make_room(parts);
  for (const TypeConfig& type : parts.types) {
    config_.types[type.id] = type;
    form_[type.id] = Form::kUnknown;
    totals_.types[type.id] = {};
    for (Worker& worker : workers_) worker.cohorts[type.id] = Cohort{};
  }
  for (const PoolConfig& pool : parts.pools) {
    config_.pools[pool.id] = pool;
    pools_[pool.id] = RangeAllocator(kReservedSlots, pool.slots);
    pool_models_[pool.id] = kNoModel;
  }
  config_.models.push_back(parts.config);
  note_model(parts.config);
  policy_->on_model_added(config_, parts.config.id);
  return {};
}

// Models whose numbers are wanted go, unless one of them lives.
bool Scheduler::Core::make_way(const ModelParts& parts) {
  std::vector<ModelId> old{parts.config.id};
  for (const TypeConfig& type : parts.types) {
    if (type.id < config_.types.size()) old.push_back(config_.types[type.id].model);
  }
  const auto lives = [this](ModelId id) { return has_model(id) && models_[id].live > 0; };
  if (std::any_of(old.begin(), old.end(), lives)) return false;
  for (const ModelId id : old) remove_model(id);
  return true;
}

void Scheduler::Core::make_room(const ModelParts& parts) {
  std::size_t types = config_.types.size(), pools = config_.pools.size();
  for (const TypeConfig& type : parts.types) types = std::max<std::size_t>(types, type.id + 1);
  for (const PoolConfig& pool : parts.pools) pools = std::max<std::size_t>(pools, pool.id + 1);
  TypeConfig nobodys;
  nobodys.model = kNoModel;
  while (config_.types.size() < types) {
    nobodys.id = static_cast<CellTypeId>(config_.types.size());
    config_.types.push_back(nobodys);
  }
  while (config_.pools.size() < pools)
    config_.pools.push_back({static_cast<PoolId>(config_.pools.size()), kReservedSlots});
  grow(form_, types, Form::kUnknown);
  grow(running_, types, 0U);
  grow(totals_.types, types, {});
  queues_.grow(static_cast<std::uint32_t>(types));
  for (Worker& worker : workers_) grow(worker.cohorts, types, {});
  grow(pools_, pools, RangeAllocator(kReservedSlots, kReservedSlots));
  grow(used_slots_, pools, 0U);
  grow(pool_models_, pools, kNoModel);
}

bool Scheduler::Core::remove_model(ModelId id) {
  if (!has_model(id)) return true;
  if (models_[id].live > 0) return false;
  for (TypeConfig& type : config_.types) {
    if (type.model == id) type.model = kNoModel;
  }
  std::erase_if(config_.models, [id](const ModelConfig& model) { return model.id == id; });
  models_[id] = {};
  return true;
}

}  // namespace volvox
